import { isUtf8 } from 'node:buffer';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { isList, itemsOf, outlineOf, type Span, withoutLists } from '../platform/json/json-outline.js';

const SIGNATURE = 'signature';

/**
 * A JSON object as it stands in a file. Its lists are read item by item: a document of a million components is longer than a text may be
 * in memory.
 */
export class JsonObjectText {
  /** Lists are empty here. */
  readonly members: Readonly<Record<string, unknown>>;
  /** None of an object that must be read as a whole: names come twice, or are spelled with escapes. */
  private readonly spans: ReadonlyMap<string, Span>;

  /** @throws SyntaxError for what is no JSON object in UTF-8; faults within its lists are found when they are read. */
  constructor(private readonly bytes: Buffer) {
    if (!isUtf8(bytes)) throw new SyntaxError('it is not UTF-8');
    this.spans = outlineOf(bytes) ?? new Map<string, Span>();
    const value: unknown = JSON.parse(withoutLists(bytes, this.spans, [...this.spans.keys()]).toString());
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError('it is no object');
    this.members = value as Readonly<Record<string, unknown>>;
  }

  /** The canonical form (RFC 8785) piece by piece, with this member as its signature. @throws SyntaxError */
  *canonicalWith(signature: object): Generator<string> {
    const members: Record<string, unknown> = { ...this.members, [SIGNATURE]: signature };
    let before = '{';
    for (const name of Object.keys(members).sort()) {
      yield `${before}${JSON.stringify(name)}:`;
      const span = this.spans.get(name);
      if (span !== undefined && name !== SIGNATURE && isList(this.bytes, span)) yield* this.canonicalList(span);
      else yield canonicalJson(members[name]);
      before = ',';
    }
    yield '}';
  }

  /** The same text with this member as its signature, in parts. */
  signedBy(signature: object): Buffer[] {
    if (this.spans.size === 0) return [Buffer.from(JSON.stringify({ ...this.members, [SIGNATURE]: signature }))];
    const { bytes } = this;
    const text = JSON.stringify(signature);
    const close = bytes.lastIndexOf('}');
    const old = this.spans.get(SIGNATURE);
    const { start, end } = old ?? { start: close, end: close };
    const put = old === undefined ? `,${JSON.stringify(SIGNATURE)}:${text}` : text;
    return [bytes.subarray(0, start), Buffer.from(put), bytes.subarray(end)];
  }

  private *canonicalList(list: Span): Generator<string> {
    let before = '[';
    for (const { start, end } of itemsOf(this.bytes, list)) {
      yield before + canonicalJson(JSON.parse(this.bytes.toString('utf8', start, end)));
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  }
}
