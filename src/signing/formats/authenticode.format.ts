import { createHash } from 'node:crypto';
import { oid, sequence, tagged } from '../../formats/asn1/der-writer.js';
import { type DerElement, derElements } from '../../formats/asn1/der-reader.js';
import { type FileHash, fileHashIn } from './indirect-data.js';
import { isRsa, type SignatureFormatWriter } from './signature-format.js';
import { attribute, contentType, messageDigest, signedAttributes, signedData } from './signed-data.js';

/** Object identifiers of "Windows Authenticode Portable Executable Signature Format" (2008). */
const INDIRECT_DATA = '1.3.6.1.4.1.311.2.1.4';
const STATEMENT_TYPE = '1.3.6.1.4.1.311.2.1.11';
const OPUS_INFO = '1.3.6.1.4.1.311.2.1.12';
const INDIVIDUAL_PURPOSE = '1.3.6.1.4.1.311.2.1.21';
export const RFC3161_TIMESTAMP = '1.3.6.1.4.1.311.3.3.1';

const SIGNED_DATA = oid('1.2.840.113549.1.7.2');

/** Authenticode: a PKCS #7 SignedData that `osslsigncode attach-signature` adds to the .exe or .msi. */
export const authenticode: SignatureFormatWriter = {
  needsCertificate: true,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-der']),
  /** Returns the signed attributes. The messageDigest is the hash of SpcIndirectDataContent without its tag and length. */
  toBeSigned({ algorithm, content = Buffer.alloc(0) }) {
    const [outer] = derElements(content);
    const digest = createHash(algorithm)
      .update(outer?.contents ?? content)
      .digest();
    return signedAttributes(
      contentType(INDIRECT_DATA),
      messageDigest(digest),
      attribute(OPUS_INFO, sequence()),
      attribute(STATEMENT_TYPE, sequence(oid(INDIVIDUAL_PURPOSE))),
    );
  },
  assemble({ algorithm, scheme, chain, content = Buffer.alloc(0) }, attributes = Buffer.alloc(0), made) {
    return signedData({
      version: 1,
      algorithm,
      scheme,
      content: sequence(oid(INDIRECT_DATA), tagged(0, content)),
      certificates: chain,
      signer: chain[0] ?? Buffer.alloc(0),
      attributes,
      signature: made.signature,
      unsignedAttributes: made.timestampToken === undefined ? [] : [attribute(RFC3161_TIMESTAMP, made.timestampToken)],
      nullParameters: true,
    });
  },
};

/** ExtractedData is the Authenticode hash of a file, with the structure that is signed. */
export interface ExtractedData extends FileHash {
  /** SpcIndirectDataContent, DER. */
  readonly content: Buffer;
}

/**
 * Parses the output of `osslsigncode extract-data`: a PKCS #7 SignedData without signers whose content is SpcIndirectDataContent, or only the
 * SpcIndirectDataContent. Throws RangeError for anything else.
 */
export function readExtractedData(bytes: Buffer): ExtractedData {
  const outer = only(bytes);
  const [first, second] = derElements(outer.contents);
  const content = first?.raw.equals(SIGNED_DATA) === true ? contentOf(second) : outer;
  return { content: Buffer.from(content.raw), ...fileHashIn(content) };
}

function contentOf(explicit: DerElement | undefined): DerElement {
  const signed = only(required(explicit).contents);
  const [, , encapsulated] = derElements(signed.contents);
  const [type, content] = derElements(required(encapsulated).contents);
  if (type?.raw.equals(oid(INDIRECT_DATA)) !== true) throw new RangeError('the content is not SpcIndirectDataContent');
  return only(required(content).contents);
}

function only(bytes: Buffer): DerElement {
  const [element, ...more] = derElements(bytes);
  if (element?.tag !== 0x30 || more.length > 0) throw new RangeError('not a single SEQUENCE');
  return element;
}

function required(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new RangeError('an element is missing');
  return element;
}
