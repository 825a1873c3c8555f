import { canonicalJson } from '../platform/json/canonical-json.js';
import { isList, itemsOf, outlineOf, type Span, withoutLists } from '../platform/json/json-outline.js';
import { readJson, readJsonObject, withoutMark } from '../platform/json/strict-json.js';

const SIGNATURE = 'signature';

/**
 * JsonObjectText is a JSON object in a file. Its lists are parsed item by item, because a document with a million components exceeds the maximum
 * length of a string.
 */
export class JsonObjectText {
  /** Members of the object, in which lists are empty. */
  readonly members: Readonly<Record<string, unknown>>;
  private readonly bytes: Buffer;
  /** Empty if a name contains escapes; the object is then parsed as a whole. */
  private readonly spans: ReadonlyMap<string, Span>;

  /** @throws JsonRefused for anything but a JSON object in UTF-8; faults within a list are found when the list is parsed */
  constructor(file: Buffer) {
    this.bytes = withoutMark(file);
    this.spans = outlineOf(this.bytes) ?? new Map<string, Span>();
    this.members = readJsonObject(withoutLists(this.bytes, this.spans, [...this.spans.keys()]));
  }

  /**
   * Yields the canonical form (RFC 8785) of the object with the given signature, in chunks.
   *
   * @throws SyntaxError
   */
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

  /** Returns the original text with the given signature, in chunks. */
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
      yield before + canonicalJson(readJson(this.bytes.subarray(start, end)));
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  }
}
