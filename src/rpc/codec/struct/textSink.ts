/** Gets the compact text of an object, and counts what its field bounds. */
export interface TextSink {
  /** Bytes of the source as they are. */
  readonly keep: (bytes: Buffer, from: number, to: number) => void;
  /** A number of the source, written as JSON.stringify would. */
  readonly rewriteNumber: (bytes: Buffer, from: number, to: number) => void;
  /** A text of the source without its quotes, or a part of one that parts nothing (`scanChars`), written as JSON.stringify would. */
  readonly rewriteText: (bytes: Buffer, from: number, to: number) => void;
  readonly write: (text: string) => void;
  /** Whether so many bytes more are within the bound; else the object is beyond it from now on. */
  readonly mayHold: (bytes: number) => boolean;
  /** The name of a property of the top level, as JSON text of so many bytes. */
  readonly property: (bytes: number, quoted: () => string) => void;
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
    rewriteNumber: (bytes, start, end) => {
      const value = Number(bytes.toString("latin1", start, end));
      if (Number.isFinite(value)) write(JSON.stringify(value));
      else fitsDoubles = false;
    },
    rewriteText: (bytes, start, end) => {
      flush();
      if (size <= limit) write(JSON.stringify(JSON.parse(`"${bytes.toString("utf8", start, end)}"`)).slice(1, -1));
    },
    write,
    mayHold: (bytes) => {
      flush();
      if (size + bytes > limit) reserve(bytes);
      return size <= limit;
    },
    property: (bytes, quoted) => {
      // A byte of the text takes six at most, as \u00xx: a longer name is too large by itself.
      if (maxProperties > 0 && names.size <= maxProperties && bytes <= 6 * limit + 2) names.add(JSON.parse(quoted()) as string);
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
