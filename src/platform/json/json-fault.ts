/** JsonFault is the position at which text stops being JSON (RFC 8259), and the reason. Line and column are one-based, in characters. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  /** Describes the fault and the expected text. Quotes at most one character of the text. */
  readonly detail: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

class Fault extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

/** jsonFault returns the first fault of text that JSON.parse rejects; undefined if there is none. The parser is not recursive. */
export function jsonFault(text: string): JsonFault | undefined {
  try {
    new Reader(text).read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.at).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, detail: error.message };
  }
}

class Reader {
  private at = 0;
  /** Closing brackets of the enclosing lists and objects. */
  private readonly around: ('}' | ']')[] = [];
  /** Whether the current list or object is still empty. */
  private isNew = false;

  constructor(private readonly text: string) {}

  read(): void {
    this.skipBlanks();
    if (this.at === this.text.length) throw new Fault(0, 'only white space was sent; send a JSON value');
    this.value();
    while (this.around.length > 0) this.next();
    this.skipBlanks();
    if (this.at < this.text.length) throw this.fault('unexpected text after the JSON value; send a single value');
  }

  /** Continues after a value or an opening bracket within a list or an object. */
  private next(): void {
    const closing = this.around.at(-1);
    this.skipBlanks();
    const character = this.text[this.at];
    if (character === closing) {
      this.at += 1;
      this.around.pop();
      this.isNew = false;
      return;
    }
    if (!this.isNew) this.comma(closing);
    this.isNew = false;
    if (closing === '}') this.name();
    this.value();
  }

  private comma(closing: string | undefined): void {
    if (this.text[this.at] !== ',') throw this.fault(`expected a comma or ${closing}`);
    this.at += 1;
    this.skipBlanks();
    if (this.text[this.at] === closing) throw this.fault('trailing commas are not allowed');
  }

  /** Reads a complete value, or the opening bracket of a list or an object. */
  private value(): void {
    this.skipBlanks();
    const character = this.text[this.at];
    if (character === '{' || character === '[') this.open(character === '{' ? '}' : ']');
    else if (character === '"') this.string();
    else if (character !== undefined && /[-\d]/.test(character)) this.number();
    else this.word();
  }

  private open(closing: '}' | ']'): void {
    this.at += 1;
    this.around.push(closing);
    this.isNew = true;
  }

  private name(): void {
    this.skipBlanks();
    if (this.text[this.at] !== '"') throw this.fault('expected a member name in double quotation marks');
    this.string();
    this.skipBlanks();
    if (this.text[this.at] !== ':') throw this.fault('expected a colon after the member name');
    this.at += 1;
  }

  private string(): void {
    for (this.at += 1; this.text[this.at] !== '"';) {
      const character = this.text[this.at];
      if (character === undefined) throw this.fault('the text ends inside a string');
      if (character < ' ') throw this.fault('control characters in strings must be escaped, such as \\n');
      if (character !== '\\') this.at += 1;
      else if (!this.take(ESCAPE)) throw this.fault('invalid escape in a string; write a literal backslash as \\\\');
    }
    this.at += 1;
  }

  private number(): void {
    if (!this.take(NUMBER)) throw this.fault('not a valid JSON number');
    const after = this.text[this.at];
    if (after !== undefined && /[\w.+]/.test(after))
      throw this.fault(
        'not a valid JSON number: leading zeros and hexadecimal are not allowed, and a decimal point needs digits on both sides',
      );
  }

  private word(): void {
    const start = this.at;
    this.take(WORD);
    const word = this.text.slice(start, this.at);
    if (['true', 'false', 'null'].includes(word)) return;
    this.at = start;
    if (word !== '')
      throw this.fault(
        'expected a value: strings must be in double quotation marks, and the only literals are true, false and null',
      );
    throw this.fault(this.text[start] === "'" ? 'strings must be in double quotation marks' : 'expected a value');
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found !== null;
  }

  private skipBlanks(): void {
    while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at += 1;
    if (this.text.startsWith('//', this.at) || this.text.startsWith('/*', this.at))
      throw this.fault('comments are not allowed in JSON');
  }

  private fault(message: string): Fault {
    const isOver = this.at >= this.text.length && !message.includes('ends');
    return new Fault(this.at, isOver ? `unexpected end of text: ${message}` : message);
  }
}
