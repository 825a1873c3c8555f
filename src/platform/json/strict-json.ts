import { isUtf8 } from 'node:buffer';
import { trimOf } from '../text/trim-end.js';
import { jsonFault } from './json-fault.js';
import { truncate } from '../text/truncate.js';
import { pointerStep } from './json-pointer.js';

/** JsonRefused reports text that is not JSON or that parsers interpret differently. The message completes "FILE cannot be read: …". */
export class JsonRefused extends SyntaxError {
  constructor(
    message: string,
    /** RFC 6901 pointer; '' for the whole text. */
    readonly pointer = '',
  ) {
    super(message);
  }
}

export interface ReadOptions {
  /** Accepts numbers that a double cannot represent, for documents whose numbers are not used. By default, these numbers are rejected. */
  readonly roundsNumbers?: boolean;
}

/**
 * readJson parses JSON from outside the service: a file, a message, or the payload of a signature. Skips a leading byte order mark (RFC 8259 section 8.1).
 * Rejects duplicate names in an object (RFC 7493 section 2.3) and numbers that a double cannot represent (section 2.2), because one parser could validate a
 * value while another parser uses a different value.
 *
 * @throws JsonRefused
 */
export function readJson(source: string | Uint8Array, options: ReadOptions = {}): unknown {
  const text = textOf(source);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const fault = jsonFault(text);
    throw new JsonRefused(
      fault === undefined ? 'not valid JSON' : `line ${fault.line}, column ${fault.column}: ${fault.detail}`,
    );
  }
  const found = findAmbiguity(text, options);
  if (found !== undefined) throw new JsonRefused(`${found.detail} (at ${found.pointer})`, found.pointer);
  return value;
}

/**
 * readJsonObject is like `readJson` for objects.
 * @throws JsonRefused also if the value is not an object
 */
export function readJsonObject(source: string | Uint8Array, options?: ReadOptions): Record<string, unknown> {
  const value = readJson(source, options);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new JsonRefused('not a JSON object');
}

/** withoutMark removes a leading UTF-8 byte order mark, which Windows editors and shells add. */
export function withoutMark<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return hasMark ? (bytes.subarray(3) as Bytes) : bytes;
}

function textOf(source: string | Uint8Array): string {
  if (typeof source === 'string') return source.startsWith('\uFEFF') ? source.slice(1) : source;
  if (!isUtf8(source)) throw new JsonRefused('not valid UTF-8');
  const bytes = withoutMark(source);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Ambiguity is a position in JSON text that parsers interpret differently. */
export interface Ambiguity {
  /** RFC 6901. */
  readonly pointer: string;
  readonly detail: string;
  /** Duplicate name. */
  readonly name?: string;
}

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const NUMBER = /[-+.\deE]+/y;
/** Maximum length of numbers that a double always represents exactly. */
const MAX_EXACT_LENGTH = 15;
const MAX_QUOTED_LENGTH = 64;

/** Around is an enclosing list or object. */
interface Around {
  /** Names in the object so far; undefined for a list. The last name is the current member. */
  readonly names: Set<string> | undefined;
  name: string;
  index: number;
}

/** findAmbiguity returns the first duplicate name or inexact number in text that JSON.parse accepts; undefined if there is none. The scan is not recursive. */
export function findAmbiguity(text: string, { roundsNumbers = false }: ReadOptions = {}): Ambiguity | undefined {
  return new AmbiguityScan(text, roundsNumbers).run();
}

/** AmbiguityScan tokenizes one text. */
class AmbiguityScan {
  private readonly around: Around[] = [];
  private current: Around | undefined;
  private isName = false;
  private found: Ambiguity | undefined;

  constructor(
    private readonly text: string,
    private readonly roundsNumbers: boolean,
  ) {}

  run(): Ambiguity | undefined {
    for (let at = 0; at < this.text.length && this.found === undefined; at += 1) {
      const character = this.text.charCodeAt(at);
      if (character === QUOTE) at = this.string(at) - 1;
      else if (character === MINUS || (character >= ZERO && character <= NINE)) at = this.number(at) - 1;
      else this.punctuation(character);
    }
    return this.found;
  }

  private string(at: number): number {
    const end = endOfString(this.text, at);
    const { current } = this;
    if (this.isName && current?.names !== undefined) {
      current.name = nameIn(this.text, at, end);
      const { size } = current.names.add(current.name);
      if (size === current.index) this.found = twice(this.around, current.name);
      current.index = size;
    }
    this.isName = false;
    return end;
  }

  private number(at: number): number {
    const end = endOfNumber(this.text, at);
    const number = this.text.slice(at, end);
    if (!this.roundsNumbers && number.length > MAX_EXACT_LENGTH && !isExact(number))
      this.found = rounded(this.around, number);
    return end;
  }

  private punctuation(character: number): void {
    if (character === OPEN_OBJECT || character === OPEN_LIST) this.open(character === OPEN_OBJECT);
    else if (character === CLOSE_OBJECT || character === CLOSE_LIST) this.close();
    else if (character === COMMA) this.comma();
  }

  private open(isObject: boolean): void {
    this.isName = isObject;
    this.current = { names: isObject ? new Set() : undefined, name: '', index: 0 };
    this.around.push(this.current);
  }

  private close(): void {
    this.around.pop();
    this.current = this.around.at(-1);
  }

  private comma(): void {
    const { current } = this;
    this.isName = current?.names !== undefined;
    if (current !== undefined && !this.isName) current.index += 1;
  }
}

function twice(around: readonly Around[], name: string): Ambiguity {
  return { pointer: pointerOf(around), detail: `duplicate member "${truncate(name, MAX_QUOTED_LENGTH)}"`, name };
}

function rounded(around: readonly Around[], number: string): Ambiguity {
  const detail = `the number ${truncate(number, MAX_QUOTED_LENGTH)} has more digits than JSON parsers preserve`;
  return { pointer: pointerOf(around), detail };
}

function pointerOf(around: readonly Around[]): string {
  return around.map(({ names, name, index }) => `/${names === undefined ? index : pointerStep(name)}`).join('');
}

function nameIn(text: string, quote: number, end: number): string {
  const name = text.slice(quote + 1, end - 1);
  return name.includes('\\') ? (JSON.parse(text.slice(quote, end)) as string) : name;
}

/** Returns the position after the closing quote. */
function endOfString(text: string, quote: number): number {
  let end = text.indexOf('"', quote + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** Reports whether the quote is escaped, which is the case if an odd number of backslashes precedes the quote. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1;
  while (text.charCodeAt(at) === BACKSLASH) at -= 1;
  return (quote - at) % 2 === 0;
}

function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  return NUMBER.lastIndex;
}

/** Reports whether a double represents the number exactly: the shortest form of the double has the same digits. */
function isExact(number: string): boolean {
  return digitsOf(number) === digitsOf(String(Number(number)));
}

function digitsOf(number: string): string {
  const [mantissa = ''] = number.split(/[eE]/);
  return trimOf(mantissa.replaceAll(/[-.]/g, ''), '0');
}
