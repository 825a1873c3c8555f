import type { VerifyBody } from '../../api/generated/types.gen.js';

/** SignatureFile is a selected signature file. */
export interface SignatureFile {
  readonly name: string;
  readonly format: NonNullable<VerifyBody['format']>;
  readonly base64: string;
}

/** MAX_FILE_BYTES is the maximum signature size that the service accepts. */
const MAX_FILE_BYTES = 48_000;
const JWS = /^[\w-]+\.[\w-]*\.[\w-]+\s*$/;
/** OBJECT IDENTIFIER signedData (RFC 5652, section 4). */
const SIGNED_DATA = '\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02';
/** The identifier is preceded by a tag and at most five length bytes. */
const HEAD = 32;

/** readSignature reads a signature file. It returns undefined if the file is too large to be a signature. */
export async function readSignature(file: File): Promise<SignatureFile | undefined> {
  if (file.size > MAX_FILE_BYTES) return undefined;
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = Array.from(bytes, (byte) => String.fromCodePoint(byte)).join('');
  return { name: file.name, format: formatOf(text), base64: btoa(text) };
}

/** formatOf detects the format by content, because file names are unreliable. */
function formatOf(text: string): SignatureFile['format'] {
  if (text.trimStart().startsWith('{')) return 'sigstore-bundle';
  if (JWS.test(text)) return 'jws';
  return text.slice(0, HEAD).includes(SIGNED_DATA) ? 'cms' : 'raw';
}
