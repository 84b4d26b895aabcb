/** Gets the compact text of an object, and counts what its field bounds. */
export interface TextSink {
  /** Bytes of the source as they are. */
  readonly keep: (bytes: Buffer, from: number, to: number) => void;
  /** A text or number of the source, written as JSON.stringify would. */
  readonly rewrite: (bytes: Buffer, from: number, to: number) => void;
  readonly write: (text: string) => void;
  /** The name of a property of the top level, as JSON text. */
  readonly property: (quoted: string) => void;
}

/** What a JSON object of arbitrary content may be; 0 is no bound. */
export interface StructRules {
  /** Compact JSON in UTF-8. */
  readonly maxBytes: number;
  /** Top level only. */
  readonly maxProperties: number;
}

export interface StructSink extends TextSink {
  /** What is wrong with the object. */
  readonly problems: () => string[];
  /** The whole text; means something only if nothing is wrong. */
  readonly text: () => string;
}

const firstCapacity = 4096;

/**
 * Collects an object within its bounds: beyond them only their being exceeded is remembered, so that no more than
 * `maxBytes` are ever held.
 */
export const createStructSink = ({ maxBytes, maxProperties }: StructRules): StructSink => {
  const limit = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes;
  let out = Buffer.allocUnsafe(firstCapacity);
  let size = 0;
  // The pending part of the source, which is copied in one piece as long as nothing in it is left out.
  let source: Buffer | undefined;
  let from = 0;
  let to = 0;
  let fitsDoubles = true;
  const names = new Set<string>();

  const reserve = (more: number): boolean => {
    if (size > limit) return false;
    if (size + more > limit) {
      size = limit + 1;
      out = Buffer.alloc(0);
      return false;
    }
    if (size + more > out.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * out.length, size + more));
      out.copy(larger, 0, 0, size);
      out = larger;
    }
    return true;
  };

  const flush = (): void => {
    if (source !== undefined && to > from && reserve(to - from)) {
      source.copy(out, size, from, to);
      size += to - from;
    }
    source = undefined;
  };

  const write = (text: string): void => {
    flush();
    if (reserve(Buffer.byteLength(text))) size += out.write(text, size);
  };

  const sink: TextSink = {
    keep: (bytes, start, end) => {
      if (source === bytes && start === to) to = end;
      else {
        flush();
        source = bytes;
        from = start;
        to = end;
      }
      // A whole body in one object: what is beyond the bound need not be remembered until its end.
      if (to - from > limit) flush();
    },
    rewrite: (bytes, start, end) => {
      flush();
      // A byte takes six at most, as \u00xx. A text that cannot fit is not worth reading.
      if (size > limit || (end - start) / 6 > limit - size) {
        reserve(Number.POSITIVE_INFINITY);
        return;
      }
      const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
      if (typeof value === "number" && !Number.isFinite(value)) fitsDoubles = false;
      else write(JSON.stringify(value));
    },
    write,
    property: (quoted) => {
      if (maxProperties > 0 && names.size <= maxProperties) names.add(JSON.parse(quoted) as string);
    },
  };
  return {
    ...sink,
    problems: () => {
      flush();
      if (!fitsDoubles) return ["holds a number that is too large for a double"];
      const problems: string[] = [];
      if (names.size > maxProperties) problems.push(`got more than ${maxProperties} properties, want at most ${maxProperties}`);
      if (size > limit) problems.push(`too large: got more than ${maxBytes} bytes of JSON, want at most ${maxBytes}`);
      return problems;
    },
    text: () => {
      flush();
      return out.toString("utf8", 0, size);
    },
  };
};
