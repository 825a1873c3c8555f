import { base64Bytes } from '../formats/encoding/base64.js';
import type { PublicJwk } from '../formats/encoding/json-web-key.js';
import type { LeafKind } from './log-verifier.js';
import { readJson } from '../platform/json/strict-json.js';

/** The members of an evidence file that the verifier reads. The service writes additional members. */
export interface EvidenceFile {
  readonly request: {
    readonly requestId: string;
    readonly digest: string;
    readonly algorithm: string;
    readonly scheme: string;
    readonly format: string;
    /** Base64. */
    readonly signature?: string;
    readonly approvalId?: string;
    readonly status?: string;
    readonly metadata?: Record<string, unknown>;
    /** Verified claims of the workload's token. */
    readonly verified?: object;
    readonly reference?: string;
    /** TimeStampToken, DER, base64. */
    readonly timestamp?: string;
    /** Certificates (DER, base64), starting with the key's certificate. */
    readonly certificateChain?: readonly string[];
    readonly key?: { readonly id: string; readonly name: string; readonly version: number };
    /** Time in RFC 3339 format, like `finishedAt`. */
    readonly createdAt?: string;
    readonly finishedAt?: string;
  };
  readonly key: {
    readonly id?: string;
    readonly type?: string;
    readonly name: string;
    readonly version: number;
    /** SubjectPublicKeyInfo, PEM. */
    readonly publicKey: string;
    /** Attributes of the private key in the token at the time of key generation. */
    readonly attributes?: object;
  };
  /** The approved document, if a policy required approval. */
  readonly approval?: {
    readonly shown: Record<string, unknown>;
    /** For a batch: index of the request in the manifest. */
    readonly place?: number;
    /** For a batch: audit path from the request to the root of the manifest, base64. */
    readonly path?: readonly string[];
  };
  /** The identity of the requesting workload. */
  readonly workload?: {
    readonly identity: {
      readonly claims: Record<string, unknown>;
      readonly tokenSha256: string;
      readonly keyThumbprint: string;
    };
    /** Absent in files that were written while the token was still valid. */
    readonly token?: string;
    readonly tokenFrom?: string;
    readonly key: PublicJwk;
  };
  /** The signature as a Sigstore bundle, with its entry in the log. */
  readonly bundle?: { readonly verificationMaterial?: { readonly tlogEntries?: readonly BundleEntry[] } };
  readonly log: {
    /** Name of the log, as in its checkpoints. */
    readonly origin?: string;
    /** SubjectPublicKeyInfo, DER, base64. */
    readonly publicKey: string;
    readonly checkpoint: string;
    readonly leaves: readonly EvidenceLeaf[];
    /** Entries about the sign-ins that votes reference; absent in files of earlier versions. */
    readonly signIns?: readonly EvidenceLeaf[];
  };
}

/** EvidenceVerdict is the result of verifying an evidence file. */
export interface EvidenceVerdict {
  /** Faults. An empty list means that the log confirms the signature. */
  readonly faults: string[];
  /** Facts that are only in the file, because an earlier version of the service did not log these facts. */
  readonly unsaid: string[];
}

/** The members of a TransparencyLogEntry (sigstore_rekor.proto) that are compared with the log. */
export interface BundleEntry {
  readonly logIndex?: unknown;
  /** Base64. */
  readonly canonicalizedBody?: unknown;
}

export interface EvidenceLeaf {
  readonly index: number;
  readonly kind: LeafKind;
  /** Content of the leaf, base64. The hashes in `path` are also base64. */
  readonly data: string;
  readonly path: readonly string[];
}

/** A leaf of the kind `entry`, as in the log. */
export interface LoggedFact {
  readonly id?: string;
  readonly action: string;
  readonly actor: { readonly id: string };
  readonly target: { readonly id: string };
  readonly detail: Record<string, unknown>;
  /** Hexadecimal SHA-256 of a signature's record. The record is a separate leaf. */
  readonly record?: string;
}

export function loggedFactsIn({ log }: EvidenceFile): LoggedFact[] {
  return factsIn(log.leaves);
}

export function signInsIn({ log }: EvidenceFile): LoggedFact[] {
  return factsIn(log.signIns ?? []);
}

function factsIn(leaves: readonly EvidenceLeaf[]): LoggedFact[] {
  return leaves.filter(({ kind }) => kind === 'entry').map(({ data }) => readJson(base64Bytes(data)) as LoggedFact);
}
