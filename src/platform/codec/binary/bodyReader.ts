import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { mostValues } from "../valueBound.ts";

/** Groups within one another. */
const deepestGroup = 100;

/** A reader of a whole body that can count its values. */
export class BodyReader extends BinaryReader {
  /** The message itself is one. */
  values = 1;

  /** To be called for every value. Throws beyond the bound. */
  countValue(): void {
    if (++this.values > mostValues) throw new RangeError("too many values");
  }

  /** Reads the length of what follows. Returns where that ends. */
  end(): number {
    const length = this.uint32();
    return this.pos + length;
  }

  /** To be called where the reading of a message is over: its last field may have gone beyond its end. */
  expectEnd(end: number): void {
    if (this.pos !== end) throw new RangeError("a field goes beyond its message");
  }

  /** Skips a value that is not a group. The library's `skip` also returns the bytes, which takes several times as long. */
  #passValue(wireType: WireType): void {
    if (wireType === WireType.LengthDelimited) this.pos = this.end();
    // Skips the upper half of a 64-bit number, too.
    else if (wireType === WireType.Varint) this.uint32();
    else if (wireType === WireType.Bit64) this.pos += 8;
    else if (wireType === WireType.Bit32) this.pos += 4;
    else throw new RangeError("a group ends that did not begin");
    if (this.pos > this.len) throw new RangeError("a field goes beyond the body");
  }

  /** Passes over a field that nobody knows; what is in a group counts, too. Throws for what is no Protobuf. */
  pass(number: number, wireType: WireType): void {
    if (wireType !== WireType.StartGroup) {
      this.#passValue(wireType);
      return;
    }
    const groups = [number];
    while (groups.length > 0) {
      const [inner, innerType] = this.tag();
      this.countValue();
      if (innerType === WireType.StartGroup) {
        if (groups.push(inner) > deepestGroup) throw new RangeError("groups nested too deep");
      } else if (innerType === WireType.EndGroup) {
        if (groups.pop() !== inner) throw new RangeError("a group ends that did not begin");
      } else this.#passValue(innerType);
    }
  }
}
