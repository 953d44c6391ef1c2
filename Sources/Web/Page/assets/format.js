// Values as people read them.

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** A time of day; with the day if that is not today. `date` is a Date, or milliseconds since 1970. */
export function clock(date) {
  const when = new Date(date);
  const isToday = when.toDateString() === new Date().toDateString();
  return isToday ? time.format(when) : `${day.format(when)}, ${time.format(when)}`;
}

/** A duration in seconds, in its two largest units. */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const units = [
    ["d", 86400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, length]) => whole >= length);
  if (first < 0) return "0 s";
  const [unit, length] = units[first];
  const count = Math.floor(whole / length);
  if (first === units.length - 1) return `${count} ${unit}`;
  const [nextUnit, nextLength] = units[first + 1];
  const rest = Math.floor((whole % length) / nextLength);
  return rest === 0 ? `${count} ${unit}` : `${count} ${unit} ${rest} ${nextUnit}`;
}

/** Milliseconds, without digits that say nothing. */
export const milliseconds = (value) => `${Number(value.toFixed(2))} ms`;

/** A count of bytes. */
export function bytes(count) {
  if (count < 1000) return `${Math.round(count)} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)} kB`;
  return `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)} MB`;
}

/** A count with its noun. */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** The number of a pairing in two groups, as phones show it. */
export const groups = (number) => (/^\d{6}$/.test(number) ? `${number.slice(0, 3)} ${number.slice(3)}` : number);

/** Whether two UUIDs are the same one. */
export const sameUUID = (one, other) => one.toLowerCase() === other.toLowerCase();

/** AD types of the Assigned Numbers, 2.3. */
const AD_TYPES = {
  0x01: "Flags",
  0x02: "Incomplete 16-bit service UUIDs",
  0x03: "16-bit service UUIDs",
  0x05: "32-bit service UUIDs",
  0x06: "Incomplete 128-bit service UUIDs",
  0x07: "128-bit service UUIDs",
  0x08: "Shortened name",
  0x09: "Name",
  0x0a: "TX power",
  0x16: "Service data",
  0x19: "Appearance",
  0xff: "Manufacturer data",
};

/** The AD structures of hexadecimal data: the type's name, and the value in words where it has some. */
export function advertisingData(hexadecimal) {
  const octets = (hexadecimal.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
  const structures = [];
  for (let at = 0; at < octets.length; ) {
    const length = octets[at];
    if (length === 0 || at + 1 + length > octets.length) break;
    const type = octets[at + 1];
    const value = octets.slice(at + 2, at + 1 + length);
    structures.push({ name: AD_TYPES[type] ?? `Type 0x${hex([type])}`, value: adValue(type, value) });
    at += 1 + length;
  }
  return structures;
}

const hex = (octets) => octets.map((octet) => octet.toString(16).padStart(2, "0")).join("");

function adValue(type, value) {
  if (type === 0x08 || type === 0x09) return new TextDecoder().decode(new Uint8Array(value));
  if (type === 0x0a && value.length === 1) return `${(value[0] << 24) >> 24} dBm`;
  if ((type === 0x02 || type === 0x03) && value.length % 2 === 0) {
    const uuids = [];
    for (let at = 0; at < value.length; at += 2) uuids.push(hex([value[at + 1], value[at]]).toUpperCase());
    return uuids.join(", ");
  }
  if ((type === 0x06 || type === 0x07) && value.length === 16) {
    return hex([...value].reverse()).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  return hex(value);
}
