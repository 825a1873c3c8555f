import { createHash, type Hash } from 'node:crypto';
import { canonicalJson } from '../../../platform/json/canonical-json.js';

const [NEWLINE, COMMA] = [0x0a, 0x2c];
const NOTHING = Buffer.alloc(0);

/** CanonicalHash hashes the canonical form (RFC 8785) of a JSON object whose long lists arrive as lines. Each line is a comma and a JSON text. */
export class CanonicalHash {
  private readonly hash: Hash;
  /** Names of the members that are not hashed yet, in reverse order. */
  private readonly names: string[];
  /** Separator before the next member, or before the next item of the open list. */
  private before = '{';
  private isListOpen = false;
  /** Beginning of a line whose end has not arrived yet. */
  private begun = NOTHING;

  constructor(
    algorithm: string,
    private readonly members: Readonly<Record<string, unknown>>,
    lists: readonly string[],
  ) {
    this.hash = createHash(algorithm);
    this.names = [...Object.keys(members), ...lists].sort().toReversed();
  }

  /** Begins a list. Lists must be added in the order of their names. */
  list(name: string): void {
    this.closeList();
    this.hashMembers(name);
    if (this.names.pop() !== name) throw new Error(`the "${name}" array is not expected here`);
    this.hash.update(`${this.before}${JSON.stringify(name)}:[`);
    this.before = '';
    this.isListOpen = true;
  }

  /** Adds lines. The last line may continue in the next part. @throws SyntaxError */
  lines(part: Buffer): void {
    const text = this.begun.length === 0 ? part : Buffer.concat([this.begun, part]);
    let start = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, start)) {
      this.hashItem(text.toString('utf8', text[start] === COMMA ? start + 1 : start, end));
      start = end + 1;
    }
    this.begun = Buffer.from(text.subarray(start));
  }

  /** Closes the object and returns the hash. */
  digest(): Buffer {
    this.closeList();
    this.hashMembers();
    return this.hash.update('}').digest();
  }

  private hashItem(json: string): void {
    this.hash.update(this.before + canonicalJson(JSON.parse(json)));
    this.before = ',';
  }

  private closeList(): void {
    if (this.begun.length > 0) throw new Error('the last line of a list is incomplete');
    if (this.isListOpen) this.hash.update(']');
    if (this.isListOpen) this.before = ',';
    this.isListOpen = false;
  }

  /** Hashes the members before `until`, or all remaining members. */
  private hashMembers(until?: string): void {
    for (let name = this.names.at(-1); name !== undefined && name !== until; name = this.names.at(-1)) {
      if (!Object.hasOwn(this.members, name)) throw new Error(`the "${name}" array is missing`);
      this.hash.update(`${this.before}${JSON.stringify(name)}:${canonicalJson(this.members[name])}`);
      this.before = ',';
      this.names.pop();
    }
  }
}
