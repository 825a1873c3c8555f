import { trimEndOf } from '../../platform/text/trim-end.js';

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/;
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/;

/** Padding is a format's rule for `=` at the end (RFC 4648 section 3.2). */
export type Padding = 'required' | 'optional' | 'none';

/**
 * Decodes base64 (RFC 4648 section 4). Undefined for invalid text. Decoding is strict: no characters outside the alphabet (section 3.3), no line breaks,
 * padding as the format requires, and no nonzero pad bits (section 3.5). Two different strings therefore never decode to the same bytes.
 */
export function fromBase64(text: string, padding: Padding = 'required'): Buffer | undefined {
  return STANDARD.test(text) ? canonical(text, 'base64', padding) : undefined;
}

/** Like `fromBase64`, for base64url (RFC 4648 section 5). JOSE omits padding (RFC 7515 section 2). */
export function fromBase64Url(text: string, padding: Padding = 'none'): Buffer | undefined {
  return URL_SAFE.test(text) ? canonical(text, 'base64url', padding) : undefined;
}

/** Decodes base64 with line breaks, as in PEM (RFC 7468 section 3: parsers ignore whitespace). */
export function fromBrokenBase64(text: string): Buffer | undefined {
  return fromBase64(text.replaceAll(/[ \t\r\n\v\f]/g, ''));
}

/**
 * Like `fromBase64`, for file readers that handle all faults together.
 *
 * @throws RangeError if the text is invalid
 */
export function base64Bytes(text: string): Buffer {
  return orRefused(fromBase64(text));
}

/**
 * Like `base64Bytes`, for base64url.
 *
 * @throws RangeError if the text is invalid
 */
export function base64UrlBytes(text: string): Buffer {
  return orRefused(fromBase64Url(text));
}

function orRefused(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new RangeError('not valid base64 (RFC 4648)');
  return bytes;
}

function canonical(text: string, encoding: 'base64' | 'base64url', padding: Padding): Buffer | undefined {
  const bare = trimEndOf(text, '=');
  const missing = (4 - (bare.length % 4)) % 4;
  const given = text.length - bare.length;
  if (padding === 'none' ? given > 0 : given !== missing && (padding === 'required' || given > 0)) return undefined;
  const bytes = Buffer.from(bare, encoding);
  return bytes.toString(encoding).replaceAll('=', '') === bare ? bytes : undefined;
}

const LINES = { 64: /.{1,64}/g, 70: /.{1,70}/g };

export interface PemLayout {
  /** Characters per line of base64. RFC 7468 uses 64, OpenSSH 70. */
  readonly width?: keyof typeof LINES;
  /** Header fields of RFC 1421 section 4.6, such as `Proc-Type`, by name. */
  readonly headers?: Iterable<readonly [name: string, value: string]>;
}

/**
 * Returns DER data in PEM format (RFC 7468).
 *
 * @param label words after BEGIN, such as `CERTIFICATE`
 */
export function writePem(label: string, der: Buffer, { width = 64, headers = [] }: PemLayout = {}): string {
  const fields = [...headers].map(([name, value]) => `${name}: ${value}\n`);
  const head = fields.length === 0 ? '' : `${fields.join('')}\n`;
  const lines = der.toString('base64').match(LINES[width]) ?? [];
  return `-----BEGIN ${label}-----\n${head}${lines.join('\n')}\n-----END ${label}-----\n`;
}
