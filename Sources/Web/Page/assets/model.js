// A watch as the page knows it: its status, its links, and what happens on it. The panels show it.

import { Refused, command, events, links, status } from "./api.js";
import { announce } from "./dom.js";

/** The status is asked for when something has happened, but not more often than this, in milliseconds. */
const STATUS_PAUSE = 200;
/** And if nothing happens: batteries and windows change without an event. */
const STATUS_PERIOD = 5000;
/** How often links are asked for while there are some: a bar of the sparkline each. */
const LINKS_PERIOD = 1000;
/** So many events are kept. */
export const EVENT_LIMIT = 5000;

export class WatchModel {
  /** "connecting" until the server has answered, then "up" or "down". */
  state = "connecting";
  /** Why it is down. */
  error = null;
  /** When it went down, in milliseconds since 1970. */
  since = 0;
  /** The control's status, and when it was true, in milliseconds since this page was opened. The last one stays. */
  status = null;
  statusAt = 0;
  /** The control's links, and when they were so. */
  links = [];
  linksAt = 0;
  /** What has happened, oldest first: {name, at: milliseconds since 1970, run, data}. */
  events = [];
  /** How often the watch was seen to start. */
  run = 0;

  #listeners = [];
  #timers = [];
  #isAsking = false;
  #isAskingAgain = false;
  #stop = null;
  #lastSequence = 0;
  /** Which process of the watch the events are of, and when it began, in milliseconds since 1970. */
  #process = { pid: null, startedAt: null };
  /** Events of a process whose beginning is not known yet. */
  #early = [];
  #page;

  constructor(page, name) {
    this.#page = page;
    this.name = name;
    this.canChange = page.canChange;
    this.#timers.push(setInterval(() => document.hidden || this.refresh(), STATUS_PERIOD));
    this.#timers.push(setInterval(() => this.#askForLinks(), LINKS_PERIOD));
    document.addEventListener("visibilitychange", this.#visibility);
    this.#visibility();
  }

  /** `listener` has any of `update()`, and `event(event)`. */
  listen(listener) {
    this.#listeners.push(listener);
  }

  close() {
    this.#timers.forEach(clearInterval);
    document.removeEventListener("visibilitychange", this.#visibility);
    this.#stop?.();
    this.#stop = null;
  }

  /** Whether commands can be given. */
  get isUsable() {
    return this.state === "up" && this.canChange;
  }

  /** Which process of the watch is up; null if none is. */
  get process() {
    return this.state === "up" && this.status !== null ? `${this.status.pid} ${this.run}` : null;
  }

  /** Carries out a command. Throws Refused. */
  async command(name, fields = null, options = {}) {
    const answer = await command(this.name, name, fields, options);
    this.refresh();
    return answer;
  }

  /** Asks for the status soon. */
  async refresh() {
    if (this.#isAsking) {
      this.#isAskingAgain = true;
      return;
    }
    this.#isAsking = true;
    try {
      const answer = await status(this.name);
      this.status = answer;
      this.statusAt = performance.now();
      this.#page.report(null);
      this.#date(answer);
      this.#become("up");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#page.report(error);
      // 502, 503 and 504 are of the watch, 404 says that there is none; everything else is of this browser.
      if (error.status >= 500 || error.status === 404) this.#become("down", error);
    }
    this.#tell("update");
    await new Promise((resolve) => setTimeout(resolve, STATUS_PAUSE));
    this.#isAsking = false;
    if (this.#isAskingAgain && this.#stop !== null) {
      this.#isAskingAgain = false;
      this.refresh();
    }
  }

  /** When something was that the watch dates by its own beginning, in milliseconds since 1970. */
  dateOf(secondsSinceStart) {
    return this.#process.startedAt + secondsSinceStart * 1000;
  }

  /** Seconds of the status that run down or up, as of now. */
  elapsed() {
    return (performance.now() - this.statusAt) / 1000;
  }

  #tell(name, ...values) {
    for (const listener of this.#listeners) listener[name]?.(...values);
  }

  #become(state, error = null) {
    const before = this.state;
    this.state = state;
    this.error = error;
    // The answer to a request may say that it is down before the stream says since when.
    if (state === "down") this.since = (error?.since ?? 0) * 1000 || (before === state ? this.since : Date.now());
    if (before === state) return;
    if (state === "down") {
      this.links = [];
      if (before === "up") announce(`${this.name} is down.`);
    } else if (before === "down") {
      announce(`${this.name} is back.`);
    }
    if (before === "connecting") return;
    const text = state === "up" ? "The watch is up." : "The watch is down.";
    this.#add({ name: "state", at: Date.now(), run: this.run, data: { event: "state", text } });
  }

  // A page that cannot be seen holds no stream: a browser has only six connections to a server.
  #visibility = () => {
    if (document.hidden) {
      this.#stop?.();
      this.#stop = null;
    } else if (this.#stop === null) {
      this.#stop = events(this.name, {
        last: this.#lastSequence,
        take: (name, data) => this.#take(name, data),
        report: (error) => {
          if (error !== null && error.status !== 409) this.refresh();
        },
      });
      this.refresh();
    }
  };

  #take(name, data) {
    if (name === "state") {
      if (data.state === "down") {
        this.#become("down", { message: data.error?.message ?? "the watch does not answer", since: data.since });
        this.#tell("update");
      } else {
        this.refresh();
      }
      return;
    }
    if (typeof data.sequence === "number") {
      // A process that counts from the start again is another one.
      if (data.sequence <= this.#lastSequence) this.#beginRun();
      this.#lastSequence = data.sequence;
    }
    if (this.#process.startedAt === null) this.#early.push({ name, data });
    else this.#keep(name, data);
    this.refresh();
  }

  #beginRun() {
    this.run += 1;
    this.#lastSequence = 0;
    this.#process.startedAt = null;
  }

  #keep(name, data) {
    this.#add({ name, at: data.at === undefined ? Date.now() : this.dateOf(data.at), run: this.run, data });
  }

  // Events have the time since the watch's process began, and only its status says when that was.
  #date(answer) {
    const isSame = answer.pid === this.#process.pid;
    if (this.#process.startedAt !== null && !isSame) this.#beginRun();
    // An answer of the process before may still have been under way.
    if (isSame) return;
    this.#process = { pid: answer.pid, startedAt: Date.now() - (answer.uptimeSeconds ?? 0) * 1000 };
    for (const { name, data } of this.#early.splice(0)) this.#keep(name, data);
  }

  #add(event) {
    this.events.push(event);
    if (this.events.length > EVENT_LIMIT) this.events.splice(0, this.events.length - EVENT_LIMIT);
    this.#tell("event", event);
  }

  async #askForLinks() {
    if (document.hidden || this.state !== "up") return;
    if (this.links.length === 0 && (this.status?.links.length ?? 0) === 0) return;
    try {
      this.links = (await links(this.name)).links;
      this.linksAt = performance.now();
      this.#tell("measured");
    } catch (error) {
      // A watch that is gone is told by its status.
      if (!(error instanceof Refused)) throw error;
    }
  }
}

/**
 * Asks something of each process of the watch until it has answered. Gives what to call at each update of the model.
 *
 * `ask` gives whether there was an answer, a refusal that is final among them: a watch that is late, or a server that has much
 * to do, is asked again.
 */
export function untilAnswered(model, ask) {
  let answered = null;
  let isAsking = false;
  return async () => {
    const { process } = model;
    if (process === null || process === answered || isAsking) return;
    isAsking = true;
    try {
      if (await ask()) answered = process;
    } finally {
      isAsking = false;
    }
  };
}
