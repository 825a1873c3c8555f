import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { base64Bytes } from '../formats/encoding/base64.js';
import { timeOfId } from '../formats/encoding/uuid.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import type { EvidenceFile, EvidenceVerdict, LoggedFact } from './evidence-file.js';

/** The log entries of a signed request. */
export interface LoggedRequest {
  /** Detail of the acceptance. If the key was rotated before the approval, the key version is the version to which the renewed approval bound the request. */
  readonly logged: Record<string, unknown>;
  readonly accepted: LoggedFact | undefined;
  readonly signed: LoggedFact | undefined;
}

/** Maximum difference between a time in the file and the time of the log entry, in milliseconds. */
const MAX_DIFFERENCE_MS = 5 * 60_000;

/** A member of the file whose value or hash is in the log. */
interface Member {
  readonly name: string;
  readonly inFile: unknown;
  readonly inLog: unknown;
}

/** Members that are in every entry with a key ID, provided that the request has these members. */
const ALWAYS_LOGGED = ['metadata', 'identity', 'reference'];

/**
 * examineRequest compares all members of the request and its key in the file with the log. A member that is not in the log is listed as unsaid, because
 * earlier versions of the service did not log all members. An entry with a key ID was written by a version that also logs the members of ALWAYS_LOGGED. If
 * such an entry lacks one of these members, a file that contains the member differs from the log.
 */
export function examineRequest({ request, key }: EvidenceFile, entries: LoggedRequest): EvidenceVerdict {
  const { logged, accepted, signed } = entries;
  const members: Member[] = [
    { name: 'metadata', inFile: hashOf(request.metadata), inLog: logged['metadataSha256'] },
    { name: 'identity', inFile: hashOf(request.verified), inLog: logged['identitySha256'] },
    { name: 'reference', inFile: request.reference, inLog: logged['reference'] },
    { name: 'timestamp', inFile: sha256Of(request.timestamp), inLog: signed?.detail['timestampSha256'] },
    { name: 'key ID', inFile: key.id, inLog: logged['keyId'] },
    { name: 'key type', inFile: key.type, inLog: keyTypeOf(key.publicKey) },
  ];
  const isComplete = 'keyId' in logged;
  const stated = members.filter(({ inFile }) => inFile !== undefined);
  const isUnsaid = ({ name, inLog }: Member) => inLog === undefined && !(isComplete && ALWAYS_LOGGED.includes(name));
  const faults = [
    ...stated.flatMap((one) => {
      if (isUnsaid(one) || one.inFile === one.inLog) return [];
      return [one.inLog === undefined ? `the log has no ${one.name}` : `the log has a different ${one.name}`];
    }),
    ...(request.status === undefined || request.status === 'SIGNED' ? [] : ['the request is shown as unsigned']),
    ...(request.key === undefined || isSameKey(request.key, key) ? [] : ['the request is shown with a different key']),
    ...faultsOfTime('createdAt', request.createdAt, accepted),
    ...faultsOfTime('finishedAt', request.finishedAt, signed),
    ...faultsOfChain(request.certificateChain ?? [], key.publicKey),
  ];
  const unsaid = [
    ...stated.filter(isUnsaid).map(({ name }) => name),
    ...(request.certificateChain === undefined ? [] : ['certificate chain']),
  ];
  return { faults, unsaid: unsaid.map((name) => `the log does not contain the ${name}`) };
}

function isSameKey(used: NonNullable<EvidenceFile['request']['key']>, { id, name, version }: EvidenceFile['key']) {
  return used.name === name && used.version === version && (id === undefined || used.id === id);
}

/** Compares a time in the file with the time of the log entry, which is part of the entry's ID. */
function faultsOfTime(name: string, time: string | undefined, entry: LoggedFact | undefined): string[] {
  if (time === undefined || entry?.id === undefined) return [];
  const difference = Math.abs(new Date(time).getTime() - timeOfId(entry.id));
  return difference <= MAX_DIFFERENCE_MS ? [] : [`the time in the log differs from ${name}`];
}

/** Checks that the first certificate is for the key, and that each certificate was signed by the next. */
function faultsOfChain(chain: readonly string[], publicKey: string): string[] {
  const [first, ...issuers] = chain.map((der) => new X509Certificate(base64Bytes(der)));
  if (first === undefined) return [];
  if (!first.publicKey.equals(createPublicKey(publicKey))) return ['the certificate is for a different key'];
  const signed = [first, ...issuers];
  const isSigned = issuers.every((issuer, at) => signed[at]?.verify(issuer.publicKey) === true);
  return isSigned ? [] : ['a certificate in the chain is not signed by the next certificate'];
}

const CURVE_TYPES: Readonly<Record<string, string>> = {
  prime256v1: 'ec-p256',
  secp384r1: 'ec-p384',
  secp521r1: 'ec-p521',
};

/** Returns the service's name for the type of a public key (PEM). */
function keyTypeOf(publicKey: string): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey(publicKey);
  if (type === 'rsa') return `rsa-${details?.modulusLength}`;
  return type === 'ec' ? CURVE_TYPES[details?.namedCurve ?? ''] : type;
}

/** Returns the SHA-256 of the canonical JSON, base64. */
function hashOf(value: object | undefined): string | undefined {
  return value === undefined ? undefined : createHash('sha256').update(canonicalJson(value)).digest('base64');
}

/** Returns the SHA-256 of base64-encoded bytes, base64. */
function sha256Of(bytes: string | undefined): string | undefined {
  return bytes === undefined ? undefined : createHash('sha256').update(base64Bytes(bytes)).digest('base64');
}
