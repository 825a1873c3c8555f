import { Injectable } from '@nestjs/common';
import { createHash, type X509Certificate } from 'node:crypto';
import { type Caller, principalOf } from '../../access/caller.js';
import { type DigestSignature, PublicVerifier } from '../../hsm/public-verifier.js';
import { Clock } from '../../platform/work/clock.js';
import { isFormatDigest } from '../formats/algorithm-identifiers.js';
import { namesKey } from '../formats/openpgp.format.js';
import { keyNameOf, type SignatureFormat } from '../formats/signature-format.js';
import { oneLine } from '../../platform/text/truncate.js';
import { BadTimestamp, timeOfToken } from '../timestamping/timestamp-check.js';
import {
  BadSignature,
  type SignatureClaim,
  type SignatureReader,
  type FileToVerify,
  otherKeyIn,
  readDsse,
  readAttestation,
  readJws,
  readOpenPgp,
  readRaw,
  readSigstoreBundle,
} from './signature-readers.js';
import { certificateCheckOf } from './certificate-check.js';
import { readAuthenticode, readCms } from './signed-data-reader.js';
import {
  type CandidateSigner,
  type KeyToVerify,
  type Subject,
  type VerificationOrder,
  VerificationSubjects,
  type VersionToVerify,
} from './verification-subjects.js';

export type CheckName = 'signature' | 'certificate' | 'timestamp';

export interface VerificationCheck {
  readonly check: CheckName;
  readonly ok: boolean;
  /** Result of the check, or the reason for its failure. */
  readonly detail: string;
}

export interface Verification {
  /** True if every check passed. */
  readonly valid: boolean;
  readonly checks: readonly VerificationCheck[];
  /** The key that made the signature. If no key made the signature, the key that the caller specified, or else the configured key. */
  readonly key: { readonly id: string; readonly name: string; readonly version?: number };
  /** The time in a verified timestamp. */
  readonly signedBefore?: Date;
  /** The onboarded certificate against which the signature was checked; absent if the certificate check found none. */
  readonly certificate?: X509Certificate;
}

/** The key and version that made a signature. */
interface MadeBy {
  readonly key: CandidateSigner['key'];
  readonly version: VersionToVerify;
  readonly claim: SignatureClaim;
}

const READERS: Record<SignatureFormat, SignatureReader> = {
  raw: readRaw,
  jws: readJws,
  'sigstore-bundle': readSigstoreBundle,
  attestation: readAttestation,
  cms: readCms,
  authenticode: readAuthenticode,
  dsse: readDsse,
  openpgp: readOpenPgp,
};

/** VerificationService verifies signatures made by this service, using only public data. The HSM is not called. */
@Injectable()
export class VerificationService {
  private readonly verifier = new PublicVerifier();

  constructor(
    private readonly subjects: VerificationSubjects,
    private readonly clock: Clock,
  ) {}

  async verify(caller: Caller, order: VerificationOrder): Promise<Verification> {
    const subject = await this.subjects.of(caller, order);
    const made = await this.makerOf(principalOf(caller), subject);
    if (made instanceof BadSignature) return refused(subject, made.message);
    const { key, version, claim } = made;
    const checks: VerificationCheck[] = [
      { check: 'signature', ok: true, detail: `made by version ${version.version} of key "${key.name}"` },
    ];
    const signedBefore = await this.checkTimestamp(claim, checks);
    const at = signedBefore ?? this.clock.now();
    const certified = certificateCheckOf(claim, version, at);
    if (certified !== undefined) checks.push({ check: 'certificate', ok: certified.ok, detail: certified.detail });
    return {
      valid: checks.every(({ ok }) => ok),
      checks,
      key: { id: key.id, name: key.name, version: version.version },
      signedBefore,
      certificate: certified?.certificate,
    };
  }

  /** Returns a key with all its versions, for `isMadeBy`. */
  signer(nameOrId: string): Promise<KeyToVerify> {
    return this.subjects.signer(nameOrId);
  }

  /** Reports whether this version of the key made a raw signature. */
  async isMadeBy(
    caller: Caller,
    { key, versions }: KeyToVerify,
    version: number,
    signed: DigestSignature,
  ): Promise<boolean> {
    const made = versions.find((one) => one.version === version);
    if (made === undefined) return false;
    return this.verifier.verifies(principalOf(caller), { type: key.type, publicKey: made.publicKey }, signed);
  }

  private async makerOf(
    caller: string,
    { file, format, signers, wanted, isNamed, timestampToken }: Subject,
  ): Promise<MadeBy | BadSignature> {
    for (const { key, scheme, versions } of signers) {
      const taken = takeApart(format, { ...file, scheme });
      if (taken instanceof BadSignature) return taken;
      const version = await this.versionOf(caller, key, versions, taken);
      if (version === undefined) continue;
      const other = otherKeyIn(taken, keyNameOf(key.id, version.version), version.publicKey);
      if (other !== undefined) return new BadSignature(`its key hint names a different key: ${oneLine(other, 100)}`);
      return { key, version, claim: { ...taken, timestampToken: timestampToken ?? taken.timestampToken } };
    }
    return new BadSignature(
      isNamed
        ? `no valid version of key "${wanted.name}" made this signature`
        : 'no key for code or document signing made this signature; specify the key if it has another purpose',
    );
  }

  private async versionOf(
    caller: string,
    { type }: CandidateSigner['key'],
    versions: readonly VersionToVerify[],
    claim: SignatureClaim,
  ): Promise<VersionToVerify | undefined> {
    const signed = { ...claim, digest: claim.signedDigest };
    for (const version of versions) {
      if (claim.hashedPart !== undefined && !namesKey(claim.hashedPart, version)) continue;
      if (await this.verifier.verifies(caller, { type, publicKey: version.publicKey }, signed)) return version;
    }
    return undefined;
  }

  private async checkTimestamp(claim: SignatureClaim, checks: VerificationCheck[]): Promise<Date | undefined> {
    const { timestampToken: token, signature, algorithm: asked } = claim;
    if (token === undefined) return undefined;
    const algorithm = isFormatDigest(asked) ? asked : 'sha256';
    const digest = createHash(algorithm).update(signature).digest();
    try {
      const time = timeOfToken(token, { digest, algorithm, roots: await this.subjects.timestampRoots() });
      checks.push({ check: 'timestamp', ok: true, detail: `signed before ${time.toISOString()}` });
      return time;
    } catch (error) {
      if (!(error instanceof BadTimestamp)) throw error;
      checks.push({ check: 'timestamp', ok: false, detail: error.message });
      return undefined;
    }
  }
}

function takeApart(format: SignatureFormat, file: FileToVerify): SignatureClaim | BadSignature {
  try {
    return READERS[format](file);
  } catch (error) {
    if (error instanceof BadSignature) return error;
    // Malformed input, such as DER, certificates or JSON.
    return new BadSignature(error instanceof Error ? `it cannot be parsed: ${error.message}` : 'it cannot be parsed');
  }
}

/**
 * refused returns a failed verification. The result contains only the key that the caller specified, or the configured key: which keys signed a digest is
 * disclosed only to callers who may see the requests.
 */
function refused({ wanted }: Subject, detail: string): Verification {
  const key = { id: wanted.id, name: wanted.name };
  return { valid: false, checks: [{ check: 'signature', ok: false, detail }], key };
}
