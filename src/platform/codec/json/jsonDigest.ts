const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Bytes that are handled in one step: they take some 10 ms. */
const stepBytes: number = 1024 * 1024;

/** Two lanes of 32 bits. */
interface Sum {
  a: number;
  b: number;
}

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));

/** A step of MurmurHash3. */
const mix = (hash: number, value: number, factor: number): number => {
  const scrambled = Math.imul(rotate(Math.imul(value, factor), 15), 0x1b873593);
  return (Math.imul(rotate(hash ^ scrambled, 13), 5) + 0xe6546b64) | 0;
};

const add = (sum: Sum, a: number, b: number): void => {
  sum.a = mix(sum.a, a, 0xcc9e2d51);
  sum.b = mix(sum.b, b, 0x85ebca6b);
};

/** Its last step, after which every bit depends on every bit. */
const finish = (hash: number): number => {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
};

interface Level extends Sum {
  readonly isObject: boolean;
  /** Of the name whose value is next. */
  name: Sum;
}

/**
 * A digest of compact JSON in which the order of properties says nothing, in steps and without sorting anything: the
 * members of an object are summed up. 64 bits against accident: who can choose both texts only deceives themselves.
 */
export function* jsonDigest(json: Buffer): Generator<void, string> {
  const levels: Level[] = [];
  let last: Sum = { a: 0, b: 0 };
  let isName = false;
  let stepAt = 0;

  /** Tells the level around it of a value. */
  const settle = (value: Sum): void => {
    const a = finish(value.a);
    const b = finish(value.b);
    const level = levels.at(-1);
    if (level === undefined) last = { a, b };
    else if (level.isObject) {
      add(level.name, a, b);
      level.a = (level.a + finish(level.name.a)) | 0;
      level.b = (level.b + finish(level.name.b)) | 0;
    } else add(level, a, b);
  };

  for (let at = 0; at < json.length; ) {
    if (at - stepAt >= stepBytes) {
      yield;
      stepAt = at;
    }
    const c = json[at] as number;
    if (c === 0x7b || c === 0x5b) {
      levels.push({ isObject: c === 0x7b, a: c, b: ~c, name: last });
      isName = c === 0x7b;
      at++;
    } else if (c === 0x7d || c === 0x5d) {
      const sum = levels.pop() as Level;
      add(sum, c, c);
      settle(sum);
      at++;
    } else if (c === COMMA || c === COLON) {
      isName = c === COMMA && levels.at(-1)?.isObject === true;
      at++;
    } else {
      const sum: Sum = { a: 1, b: 2 };
      const from = at++;
      if (c === QUOTE) {
        while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
        at++;
      } else for (let next = json[at]; next !== undefined && next !== COMMA && next !== 0x7d && next !== 0x5d; next = json[at]) at++;
      for (let i = from; i < at; i++) add(sum, json[i] as number, json[i] as number);
      const level = levels.at(-1);
      if (isName && level !== undefined) level.name = sum;
      else settle(sum);
    }
  }
  return `${(last.a >>> 0).toString(16)}-${(last.b >>> 0).toString(16)}-${json.length}`;
}
