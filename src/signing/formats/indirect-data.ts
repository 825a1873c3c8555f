import { createHash } from 'node:crypto';
import { oid } from '../../formats/asn1/der-writer.js';
import { DER, type DerElement, derElements } from '../../formats/asn1/der-reader.js';
import { DIGEST_OID, FORMAT_DIGESTS, type FormatDigest } from './algorithm-identifiers.js';

/** Types of SpcAttributeTypeAndOptionalValue ("Windows Authenticode Portable Executable Signature Format", 2008), each with a check of its value. */
const TYPES = [
  { id: oid('1.3.6.1.4.1.311.2.1.15'), isValue: isImageData },
  { id: oid('1.3.6.1.4.1.311.2.1.25'), isValue: isLink },
  { id: oid('1.3.6.1.4.1.311.2.1.30'), isValue: isSipInfo },
] as const;

/** Class ID of an SpcSerializedObject that contains page hashes. */
const PAGE_HASHES = Buffer.from('a6b586d5b4a12466ae05a217da8e60d6', 'hex');
/** SPC_PE_IMAGE_PAGE_HASHES_V1 and _V2, each with the length of its hash in bytes. */
const PAGE_HASH_TYPES = [
  { id: oid('1.3.6.1.4.1.311.2.3.1'), bytes: 20 },
  { id: oid('1.3.6.1.4.1.311.2.3.2'), bytes: 32 },
] as const;
const SET = 0x31;
const NULL = Buffer.from([0x05, 0x00]);
const OBSOLETE = Buffer.from('<<<Obsolete>>>', 'utf16le').swap16();

/** FileHash is the hash of a file in an Authenticode signature. */
export interface FileHash {
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
}

/**
 * fileHashIn returns the file hash in SpcIndirectDataContent. Callers send this structure and the key signs it, so the structure must contain only its
 * defined fields. Otherwise, a caller could add bytes that are a script or another document.
 *
 * @throws RangeError that describes the fault
 */
export function fileHashIn(content: DerElement): FileHash {
  const [data, messageDigest, ...more] = inside(content, DER.sequence);
  const [type, value, ...others] = inside(data, DER.sequence);
  const known = TYPES.find(({ id }) => type?.raw.equals(id) === true);
  if (more.length > 0 || others.length > 0) throw new RangeError('SpcIndirectDataContent has elements after its hash');
  if (known === undefined) throw new RangeError('its data type is not for a program, cabinet or installer');
  if (value !== undefined && !known.isValue(value))
    throw new RangeError('the value of its data type has unexpected content');
  return hashIn(messageDigest);
}

function hashIn(digestInfo: DerElement | undefined): FileHash {
  const [identifier, digest, ...more] = inside(digestInfo, DER.sequence);
  const [id, parameters, ...others] = inside(identifier, DER.sequence);
  const algorithm = FORMAT_DIGESTS.find((name) => id?.raw.equals(oid(DIGEST_OID[name])));
  if (algorithm === undefined) throw new RangeError('the file hash must be SHA-256, SHA-384 or SHA-512');
  const isPlain = more.length === 0 && others.length === 0 && (parameters?.raw ?? NULL).equals(NULL);
  if (!isPlain || digest?.tag !== DER.octetString) throw new RangeError('the file hash has unexpected content');
  if (digest.contents.length !== createHash(algorithm).digest().length)
    throw new RangeError('the file hash has the wrong length');
  return { digest: Buffer.from(digest.contents), algorithm };
}

/** Reports whether an element is an SpcPeImageData: SEQUENCE { flags BIT STRING, file [0] SpcLink }. */
function isImageData({ tag, contents }: DerElement): boolean {
  if (tag !== DER.sequence) return false;
  const [flags, file, ...more] = derElements(contents);
  const isFlags = flags?.tag === DER.bitString && flags.contents.length <= 2;
  if (!isFlags || more.length > 0) return false;
  if (file === undefined) return true;
  const [link, ...others] = file.tag === 0xa0 ? derElements(file.contents) : [];
  return link !== undefined && others.length === 0 && (isLink(link) || isPageHashes(link));
}

/** Reports whether an element is an SpcLink with the choice file [2] SpcString, which is empty or `<<<Obsolete>>>`. */
function isLink({ tag, contents }: DerElement): boolean {
  if (tag !== 0xa2) return false;
  const [text, ...more] = derElements(contents);
  return more.length === 0 && text?.tag === 0x80 && (text.contents.length === 0 || text.contents.equals(OBSOLETE));
}

/** Reports whether an element is an SpcLink with the choice moniker [1] SpcSerializedObject that contains a hash for each page of the program. */
function isPageHashes({ tag, contents }: DerElement): boolean {
  if (tag !== 0xa1) return false;
  const [classId, data, ...more] = derElements(contents);
  if (classId?.contents.equals(PAGE_HASHES) !== true || data?.tag !== DER.octetString || more.length > 0) return false;
  const entry = onlyIn(onlyIn(data, SET), DER.sequence, SET);
  const [type, values, ...others] = entry === undefined ? [] : derElements(entry.contents);
  const known = PAGE_HASH_TYPES.find(({ id }) => type?.raw.equals(id) === true);
  const hashes = onlyIn(values, DER.octetString, SET);
  return others.length === 0 && known !== undefined && hashes !== undefined && isTable(hashes.contents, known.bytes);
}

/** Returns the only child of an element, if the child has the tag `tag` and the element has the tag `outer`; undefined otherwise. */
function onlyIn(element: DerElement | undefined, tag: number, outer = element?.tag): DerElement | undefined {
  const [first, ...more] = element?.tag === outer && element !== undefined ? derElements(element.contents) : [];
  return first?.tag === tag && more.length === 0 ? first : undefined;
}

/** Reports whether the bytes are a table of strictly increasing page offsets, each followed by the hash of its page. */
function isTable(table: Buffer, hashBytes: number): boolean {
  const size = 4 + hashBytes;
  if (table.length === 0 || table.length % size !== 0) return false;
  let last = -1;
  for (let at = 0; at < table.length; at += size) {
    const offset = table.readUInt32LE(at);
    if (offset <= last) return false;
    last = offset;
  }
  return true;
}

/** Reports whether an element is an SpcSipInfo: SEQUENCE { INTEGER, OCTET STRING of 16 bytes, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER }. */
function isSipInfo({ tag, contents }: DerElement): boolean {
  if (tag !== DER.sequence) return false;
  const [version, guid, ...numbers] = derElements(contents);
  const isNumber = (one: DerElement | undefined) => one?.tag === DER.integer && one.contents.length <= 4;
  const isGuid = guid?.tag === DER.octetString && guid.contents.length === 16;
  return isNumber(version) && isGuid && numbers.length === 5 && numbers.every(isNumber);
}

function inside(element: DerElement | undefined, tag: number): DerElement[] {
  if (element?.tag !== tag) throw new RangeError('SpcIndirectDataContent is incomplete');
  return derElements(element.contents);
}
