// The rules for names of hosts that are written from right to left (RFC 5893), and for joiners
// (RFC 5892, appendix A). The classes that JavaScript cannot ask for are written down here.
let classes = null;

function unicode() {
  classes ??= {
    transparent: /[\p{Mn}\p{Me}]/u,
    arabicNumber: /[\u0600-\u0605\u0660-\u0669\u066b\u066c\u06dd\u0890\u0891\u08e2\u{10d30}-\u{10d39}\u{10e60}-\u{10e7e}]/u,
    europeanNumber: /[0-9\u06f0-\u06f9\u{102e1}-\u{102fb}\u{1fbf0}-\u{1fbf9}]/u,
    rightBlocks: /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u,
    neutralOfThem: /[\u0606\u0607\u0609\u060a\u060c\u060e\u060f\u066a\u06de\u06e9\u07f6-\u07f9\ufb29\ufd3e-\ufd4f\ufdcf\ufdfd-\ufdff\u{1091f}\u{10b39}-\u{10b3f}\u{10d6e}\u{1eef0}\u{1eef1}]/u,
    left: /[\p{L}\p{Mc}\p{Nd}\p{Nl}]/u,
    virama: /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]$/u,
    joinsRightOnly: /^[\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f\u074d\u0759-\u075b\u076b\u076c\u0771\u0773\u0774\u0778\u0779]/u,
    joins: /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Manichaean}\p{Script=Adlam}\p{Script=Phags_Pa}\p{Script=Hanifi_Rohingya}\p{Script=Sogdian}]/u,
    joinsNot: /^[^\p{L}]|^[\u0621\u0640\u0674]/u,
  };
  return classes;
}

function directionOf(character) {
  const { transparent, arabicNumber, europeanNumber, rightBlocks, neutralOfThem, left } = unicode();
  if (transparent.test(character)) return "transparent";
  if (arabicNumber.test(character)) return "arabic number";
  if (europeanNumber.test(character)) return "european number";
  if (rightBlocks.test(character)) return neutralOfThem.test(character) ? "neutral" : "right";
  return left.test(character) ? "left" : "neutral";
}

function isGoodLabel(directions) {
  const end = directions.findLast((each) => each !== "transparent");
  if (directions[0] === "left") {
    return !directions.includes("right") && !directions.includes("arabic number") &&
      (end === "left" || end === "european number");
  }
  return directions[0] === "right" && !directions.includes("left") &&
    ["right", "arabic number", "european number"].includes(end) &&
    !(directions.includes("arabic number") && directions.includes("european number"));
}

// Whether each label may stand in one name with the others.
export function areGoodDirections(labels) {
  const directions = labels.map((label) => Array.from(label, directionOf));
  const isBidirectional = directions.flat().some((each) => each === "right" || each === "arabic number");
  return !isBidirectional || directions.every((each) => each.length === 0 || isGoodLabel(each));
}

function joinsOver(characters, at) {
  const { transparent, joins, joinsRightOnly, joinsNot } = unicode();
  const isTransparent = (each) => transparent.test(each);
  const before = characters.slice(0, at).findLast((each) => !isTransparent(each)) ?? "";
  const after = characters.slice(at + 1).find((each) => !isTransparent(each)) ?? "";
  const isJoining = (each) => joins.test(each) && !joinsNot.test(each);
  return isJoining(before) && !joinsRightOnly.test(before) && isJoining(after);
}

// Whether each joiner and non-joiner of a label stands where it changes what is read.
export function hasGoodJoiners(label) {
  const characters = Array.from(label);
  return characters.every((each, at) => {
    if (each !== "\u200c" && each !== "\u200d") return true;
    return unicode().virama.test(characters[at - 1] ?? "") || (each === "\u200c" && joinsOver(characters, at));
  });
}
