// The decoders of encodings of several bytes a character (Encoding Standard, chapters 10 to 14). A decoder
// gets a byte, or -1 at the end, and returns a character's number, `more` or `wrong`. Bytes that it gives
// back are read again.
import native from "quire:native";
import { gb18030Ranges } from "quire:library/encoding_tables.js";

const more = -2;
const wrong = -1;
const within = (byte, first, last) => byte >= first && byte <= last;
const isAscii = (byte) => within(byte, 0, 0x7f);

const indexes = new Map();

// The characters of an index, by pointer; 0: there is none. encoding_indexes.h says how it is written.
function indexOf(name) {
  const known = indexes.get(name);
  if (known !== undefined) return known;
  const points = [];
  const given = Array.from(native.utf8.encodingIndex(name), (each) => each.codePointAt(0));
  for (let at = 0; at < given.length; at += 1) {
    if (given[at] > 2) {
      points.push(given[at]);
      continue;
    }
    const first = given[at] === 2 ? given[(at += 1)] : 0;
    const count = given[(at += 1)] - 32;
    for (let next = 0; next < count; next += 1) points.push(first === 0 ? 0 : first + next);
  }
  const index = Uint32Array.from(points);
  indexes.set(name, index);
  return index;
}

// A lead byte and a trail byte make a pointer, which is NaN if they do not go together.
class TwoByteDecoder {
  lead = 0;
  constructor(back) {
    this.back = back;
  }
  pair(lead, byte) {
    const pointer = this.pointer(lead, byte);
    const point = this.special?.(pointer) ?? indexOf(this.index)[pointer];
    if (point) return point;
    if (isAscii(byte)) this.back(byte);
    return wrong;
  }
  next(byte) {
    const { lead } = this;
    this.lead = 0;
    if (byte < 0) return lead === 0 ? more : wrong;
    if (lead !== 0) return this.pair(lead, byte);
    const single = this.single(byte);
    if (single !== undefined) return single;
    if (!this.isLead(byte)) return wrong;
    this.lead = byte;
    return more;
  }
  single(byte) {
    return isAscii(byte) ? byte : undefined;
  }
  isLead(byte) {
    return within(byte, 0x81, 0xfe);
  }
}

class Big5Decoder extends TwoByteDecoder {
  index = "big5";
  pointer(lead, byte) {
    if (!within(byte, 0x40, 0x7e) && !within(byte, 0xa1, 0xfe)) return Number.NaN;
    return (lead - 0x81) * 157 + byte - (byte < 0x7f ? 0x40 : 0x62);
  }
  special(pointer) {
    const letters = { 1133: "\u00ca\u0304", 1135: "\u00ca\u030c", 1164: "\u00ea\u0304", 1166: "\u00ea\u030c" };
    return letters[pointer];
  }
}

class EucKrDecoder extends TwoByteDecoder {
  index = "euc-kr";
  pointer(lead, byte) {
    return within(byte, 0x41, 0xfe) ? (lead - 0x81) * 190 + byte - 0x41 : Number.NaN;
  }
}

class ShiftJisDecoder extends TwoByteDecoder {
  index = "jis0208";
  pointer(lead, byte) {
    if (!within(byte, 0x40, 0x7e) && !within(byte, 0x80, 0xfc)) return Number.NaN;
    return (lead - (lead < 0xa0 ? 0x81 : 0xc1)) * 188 + byte - (byte < 0x7f ? 0x40 : 0x41);
  }
  special(pointer) {
    return within(pointer, 8836, 10715) ? 0xe000 - 8836 + pointer : undefined;
  }
  single(byte) {
    if (isAscii(byte) || byte === 0x80) return byte;
    return within(byte, 0xa1, 0xdf) ? 0xff61 - 0xa1 + byte : undefined;
  }
  isLead(byte) {
    return within(byte, 0x81, 0x9f) || within(byte, 0xe0, 0xfc);
  }
}

class EucJpDecoder {
  lead = 0;
  index = "jis0208";
  constructor(back) {
    this.back = back;
  }
  next(byte) {
    const { lead } = this;
    this.lead = 0;
    if (byte < 0) return lead === 0 ? more : wrong;
    if (lead === 0x8e && within(byte, 0xa1, 0xdf)) return 0xff61 - 0xa1 + byte;
    if (lead === 0x8f && within(byte, 0xa1, 0xfe)) {
      this.index = "jis0212";
      this.lead = byte;
      return more;
    }
    if (lead !== 0) {
      const isPair = within(lead, 0xa1, 0xfe) && within(byte, 0xa1, 0xfe);
      const point = isPair ? indexOf(this.index)[(lead - 0xa1) * 94 + byte - 0xa1] : 0;
      this.index = "jis0208";
      if (point) return point;
      if (isAscii(byte)) this.back(byte);
      return wrong;
    }
    if (isAscii(byte)) return byte;
    if (byte !== 0x8e && byte !== 0x8f && !within(byte, 0xa1, 0xfe)) return wrong;
    this.lead = byte;
    return more;
  }
}

let ranges = null;  // Of characters of four bytes: the first pointer of each, and its character.

function fourBytes(first, second, third, fourth) {
  const pointer = (first - 0x81) * 12600 + (second - 0x30) * 1260 + (third - 0x81) * 10 + fourth - 0x30;
  if (within(pointer, 39420, 188999) || pointer > 1237575) return undefined;
  if (pointer === 7457) return 0xe7c7;
  ranges ??= gb18030Ranges.split(" ").map((each) => each.split(":").map(Number));
  const [begin, point] = ranges.findLast(([each]) => each <= pointer);
  return point + pointer - begin;
}

class Gb18030Decoder {
  held = [];
  constructor(back) {
    this.back = back;
  }
  next(byte) {
    const held = this.held;
    this.held = [];
    if (byte < 0) return held.length === 0 ? more : wrong;
    const hold = () => {
      this.held = [...held, byte];
      return more;
    };
    if (held.length === 3 || held.length === 2) {
      if (held.length === 2 && within(byte, 0x81, 0xfe)) return hold();
      if (held.length === 3 && within(byte, 0x30, 0x39)) return fourBytes(...held, byte) ?? wrong;
      this.back(...held.slice(1), byte);
      return wrong;
    }
    if (held.length === 1) {
      if (within(byte, 0x30, 0x39)) return hold();
      const isTrail = within(byte, 0x40, 0x7e) || within(byte, 0x80, 0xfe);
      const pointer = (held[0] - 0x81) * 190 + byte - (byte < 0x7f ? 0x40 : 0x41);
      const point = isTrail ? indexOf("gb18030")[pointer] : 0;
      if (point) return point;
      if (isAscii(byte)) this.back(byte);
      return wrong;
    }
    if (isAscii(byte)) return byte;
    if (byte === 0x80) return 0x20ac;
    return within(byte, 0x81, 0xfe) ? hold() : wrong;
  }
}

class Iso2022JpDecoder {
  state = "ascii";
  output = "ascii";
  hasOutput = false;
  lead = 0;
  constructor(back) {
    this.back = back;
  }
  next(byte) {
    return this[this.state](byte);
  }
  begin(byte) {
    if (byte !== 0x1b) return false;
    this.state = "escapeStart";
    return true;
  }
  out(point) {
    this.hasOutput = false;
    return point;
  }
  plain(byte, translate) {
    if (this.begin(byte)) return more;
    if (byte < 0) return more;
    const isPlain = isAscii(byte) && byte !== 0x0e && byte !== 0x0f;
    return this.out(isPlain ? translate(byte) : wrong);
  }
  ascii(byte) {
    return this.plain(byte, (each) => each);
  }
  roman(byte) {
    return this.plain(byte, (each) => ({ 0x5c: 0xa5, 0x7e: 0x203e })[each] ?? each);
  }
  katakana(byte) {
    if (this.begin(byte) || byte < 0) return more;
    return this.out(within(byte, 0x21, 0x5f) ? 0xff61 - 0x21 + byte : wrong);
  }
  leadByte(byte) {
    if (this.begin(byte) || byte < 0) return more;
    this.hasOutput = false;
    if (!within(byte, 0x21, 0x7e)) return wrong;
    this.lead = byte;
    this.state = "trailByte";
    return more;
  }
  trailByte(byte) {
    if (this.begin(byte)) return wrong;
    this.state = "leadByte";
    if (byte < 0 || !within(byte, 0x21, 0x7e)) return wrong;
    return indexOf("jis0208")[(this.lead - 0x21) * 94 + byte - 0x21] || wrong;
  }
  escapeStart(byte) {
    if (byte === 0x24 || byte === 0x28) {
      this.lead = byte;
      this.state = "escape";
      return more;
    }
    if (byte >= 0) this.back(byte);
    this.hasOutput = false;
    this.state = this.output;
    return wrong;
  }
  escape(byte) {
    const { lead } = this;
    this.lead = 0;
    const state = lead === 0x28 ? { 0x42: "ascii", 0x4a: "roman", 0x49: "katakana" }[byte]
      : { 0x40: "leadByte", 0x42: "leadByte" }[byte];
    if (state === undefined) {
      this.back(...(byte < 0 ? [lead] : [lead, byte]));
      this.hasOutput = false;
      this.state = this.output;
      return wrong;
    }
    this.state = state;
    this.output = state;
    const hadOutput = this.hasOutput;
    this.hasOutput = true;
    return hadOutput ? wrong : more;
  }
}

const types = {
  big5: Big5Decoder, "euc-jp": EucJpDecoder, "euc-kr": EucKrDecoder, gb18030: Gb18030Decoder, gbk: Gb18030Decoder,
  "iso-2022-jp": Iso2022JpDecoder, shift_jis: ShiftJisDecoder,
};

export const isMultiByte = (encoding) => Object.hasOwn(types, encoding);

// Decodes a stream; push() as those of encoding.js.
export class MultiByteDecoder {
  constructor(isFatal, encoding) {
    this.isFatal = isFatal;
    this.again = [];
    this.decoder = new types[encoding]((...bytes) => this.again.unshift(...bytes));
  }
  push(bytes, isLast) {
    const parts = [];
    const take = (byte) => {
      const point = this.decoder.next(byte);
      if (point === more) return true;
      parts.push(point === wrong ? "\ufffd" : typeof point === "string" ? point : String.fromCodePoint(point));
      return point !== wrong || !this.isFatal;
    };
    const takeAgain = () => {
      while (this.again.length > 0) if (!take(this.again.shift())) return false;
      return true;
    };
    for (const byte of bytes) if (!take(byte) || !takeAgain()) return undefined;
    if (isLast && (!take(-1) || !takeAgain() || !take(-1))) return undefined;
    return parts.join("");
  }
}
