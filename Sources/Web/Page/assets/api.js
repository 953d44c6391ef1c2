// The server's interface: JSON requests, and event streams that connect again.

/** What the server or the watch refused, in its words. `code` is for programs, `status` is HTTP's, 0 if there was no answer. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether the same request would be refused again: the watch and the server were there, and had the time. */
  get isFinal() {
    return this.status >= 400 && this.status < 500 && this.status !== 429;
  }
}

const NO_SERVER = "cairn-web does not answer. Is it still running?";

async function refusal(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // An answer without a reason: a proxy's, perhaps.
  }
  return new Refused(response.status, error.code ?? "unknown", error.message ?? `the server answered ${response.status}`);
}

/** A request that the server had no room for was not carried out, and is sent again so often. */
const ATTEMPTS = 4;

async function request(path, options = {}) {
  for (let attempt = 1; ; attempt += 1) {
    let response;
    try {
      response = await fetch(path, { cache: "no-store", ...options });
    } catch {
      throw new Refused(0, "no-server", NO_SERVER);
    }
    if (response.ok) return response;
    if (response.status !== 429 || attempt === ATTEMPTS) throw await refusal(response);
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, 2) * 1000));
  }
}

/** A watch carries out a few commands at once, for all who ask: one page takes so many of those places. */
const AT_ONCE = 2;
const underWay = new Map();

/** Does something that asks a watch, when it has its turn. */
async function inTurn(watch, work) {
  const turns = underWay.get(watch) ?? { count: 0, waiting: [] };
  underWay.set(watch, turns);
  if (turns.count === AT_ONCE) await new Promise((resolve) => turns.waiting.push(resolve));
  else turns.count += 1;
  try {
    return await work();
  } finally {
    // The place goes to the next one, if there is one.
    const next = turns.waiting.shift();
    if (next) next();
    else turns.count -= 1;
  }
}

const place = (watch) => `/api/watches/${encodeURIComponent(watch)}`;

/** An answer of the server's. Throws Refused. */
export async function get(path) {
  return (await request(path)).json();
}

/** Who may do what here. */
export const session = () => get("/api/session");

/** All watches of the bench. */
export const watches = () => get("/api/watches").then((answer) => answer.watches);

/** The address of a watch's picture. */
export const screenPath = (watch) => `${place(watch)}/screen.png`;

/** The status of a watch. Throws Refused. */
export const status = (watch) => inTurn(watch, () => get(`${place(watch)}/status`));

/** Has a watch carry out a command, and gives its answer. Throws Refused. */
export function command(watch, name, fields = null, options = {}) {
  const body = fields === null ? {} : { body: JSON.stringify(fields), headers: { "Content-Type": "application/json" } };
  const path = `${place(watch)}/commands/${name}`;
  return inTurn(watch, async () => (await request(path, { method: "POST", ...body, ...options })).json());
}

/** How long to wait before a stream is asked for again, in milliseconds: the last of these from then on. */
const PAUSES = [250, 500, 1000, 2000, 4000];

/**
 * An event stream that asks again when it ends, from after the last event on. `take` gets each event's name and its data,
 * `report` a Refused when there is no stream, and null when there is one again. Unlike EventSource it tells why.
 *
 * `last` is the number after which events are wanted; null for those from now on. Gives what ends it.
 */
export function stream(path, { take, report = () => {}, last = null }) {
  const end = new AbortController();
  let failures = 0;
  /** Whether what has happened so far is too much for the server to give at once. */
  let isTooMuch = false;

  async function read() {
    const headers = { Accept: "text/event-stream" };
    if (last !== null && !isTooMuch) headers["Last-Event-ID"] = String(last);
    const response = await request(path, { headers, signal: end.signal });
    failures = 0;
    report(null);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let isMoving = false;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      for (const event of parser.parse(value)) {
        if (event.id !== "" && last !== null) {
          last = event.id;
          isMoving = true;
          isTooMuch = false;
        }
        // Who is cut off before the first event would be cut off again.
        if (event.name === "overrun") isTooMuch = !isMoving;
        take(event.name, event.data);
      }
    }
  }

  async function run() {
    while (!end.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (end.signal.aborted) return;
        // A watch that was started again counts from 1: what it had before is gone.
        if (error instanceof Refused && error.status === 409) last = last === null ? null : 0;
        if (error instanceof Refused) report(error);
      }
      const pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
      failures += 1;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  run();
  return () => end.abort();
}

/** The events of a stream's text, as the HTML Standard has them (9.2.6). Data that is no JSON is passed over. */
export class EventParser {
  #rest = "";
  #name = "";
  #data = [];
  #id = "";

  *parse(chunk) {
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length > 0) {
          try {
            yield { name: this.#name || "message", data: JSON.parse(this.#data.join("\n")), id: this.#id };
          } catch (error) {
            if (!(error instanceof SyntaxError)) throw error;
          }
        }
        this.#name = "";
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") this.#name = value;
      else if (field === "data") this.#data.push(value);
      else if (field === "id") this.#id = value;
    }
  }
}

/** A watch's events, from its first that is still kept on. */
export const events = (watch, options) => stream(`${place(watch)}/events`, { last: 0, ...options });

/** A watch's pictures, each when it has changed. */
export const frames = (watch, options) => stream(`${place(watch)}/screen/frames`, options);

/** A watch's links, with what has gone over them. Throws Refused. */
export const links = (watch) => command(watch, "links");
