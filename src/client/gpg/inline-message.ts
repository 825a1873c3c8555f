import { canonicalText } from '../../formats/openpgp/cleartext.js';
import { fourOctets, pgpSeconds } from '../../formats/openpgp/key-packet.js';
import { PGP_TAG, pgpPacket } from '../../formats/openpgp/packets.js';
import { PGP_HASH, type PgpHash } from '../../formats/openpgp/signature-packet.js';

/** InlineDocument is a document to be signed inline. */
export interface InlineDocument {
  readonly content: Buffer;
  readonly isText: boolean;
  /** File name for recipients who extract the message. Empty if the data has no file name. */
  readonly name: string;
  readonly at: Date;
}

export interface InlineSigner {
  /** Fingerprint in hexadecimal. The last eight octets are the key ID. */
  readonly fingerprint: string;
  /** Public-key algorithm ID. */
  readonly algorithm: number;
  readonly hash: PgpHash;
  readonly signatureType: number;
}

const ONE_PASS_VERSION = 3;
const KEY_ID_BYTES = 8;
const IS_LAST = 1;
const MAX_NAME_BYTES = 255;

/** Returns the octets of a document that the signature covers. Lines of text end with CR LF. */
export function signedContent({ content, isText }: Pick<InlineDocument, 'content' | 'isText'>): Buffer {
  return isText ? canonicalText(content) : content;
}

/**
 * Returns a signed message (RFC 9580 section 10.3): one-pass signature, literal data, signature. The message is not compressed.
 *
 * @param signature signature packet
 */
export function inlineMessage(document: InlineDocument, signer: InlineSigner, signature: Buffer): Buffer {
  const { fingerprint, algorithm, hash, signatureType } = signer;
  const keyId = Buffer.from(fingerprint, 'hex').subarray(-KEY_ID_BYTES);
  const head = Buffer.from([ONE_PASS_VERSION, signatureType, PGP_HASH[hash], algorithm]);
  const onePass = Buffer.concat([head, keyId, Buffer.from([IS_LAST])]);
  return Buffer.concat([
    pgpPacket({ tag: PGP_TAG.onePassSignature, body: onePass }),
    pgpPacket({ tag: PGP_TAG.literalData, body: literalData(document) }),
    signature,
  ]);
}

function literalData({ content, isText, name, at }: InlineDocument): Buffer {
  const named = Buffer.from(name).subarray(0, MAX_NAME_BYTES);
  const head = Buffer.concat([Buffer.from(isText ? 't' : 'b'), Buffer.from([named.length]), named]);
  return Buffer.concat([head, fourOctets(pgpSeconds(at)), signedContent({ content, isText })]);
}
