import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { LogReader, type TargetProofs } from '../../audit/log/log-reader.js';
import type { MadeLogKey } from '../../audit/log/log-keys.js';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { type Approved, ApprovedRequests } from './approved-requests.js';
import { withLogEntry } from './sigstore-log-entry.js';

export interface Evidence {
  readonly request: ShownRequest;
  readonly key: ActiveKey;
  readonly proofs: TargetProofs;
  readonly logKey: MadeLogKey;
  /** What was approved; only of requests that a policy held. */
  readonly approved: Approved | undefined;
  /** The Sigstore bundle with its log entry; only of requests in that format. */
  readonly bundle: object | undefined;
}

/** The log numbers entries once a second; who asks right after signing is kept waiting for it this long. */
const PATIENCE_MS = 5000;
const STEP_MS = 200;

/** All that proves a signature, for one who has nothing but this file and the log's public key. */
@Injectable()
export class EvidenceService {
  constructor(
    private readonly requests: SigningRequestsReader,
    private readonly keys: SigningKeyReader,
    private readonly log: LogReader,
    private readonly approved: ApprovedRequests,
  ) {}

  /** Problems `evidence.not-signed`, `log.not-yet`. */
  async of(caller: Caller, id: string): Promise<Evidence> {
    const request = await this.requests.find(caller, id);
    if (request.status !== 'SIGNED')
      throw new Problem(
        'conflict',
        'evidence.not-signed',
        `The request is ${request.status}: there is no signature yet.`,
      );
    const about = request.approvalId === null ? [id] : [id, request.approvalId];
    const proofs = await this.patiently(() => this.log.inclusionOf(about));
    const [key, logKey] = await Promise.all([this.keys.version(request.keyId, request.keyVersion), this.log.key()]);
    const approved = await this.approved.of(request);
    return { request, key, proofs, logKey, approved, bundle: bundleOf(request, proofs, logKey) };
  }

  private async patiently(ask: () => Promise<TargetProofs>): Promise<TargetProofs> {
    for (const until = performance.now() + PATIENCE_MS; ; await sleep(STEP_MS)) {
      try {
        return await ask();
      } catch (error) {
        const early = error instanceof Problem && ['log.not-yet', 'log.empty'].includes(error.code);
        if (!early || performance.now() > until) throw error;
      }
    }
  }
}

function bundleOf(request: ShownRequest, { size, note, leaves }: TargetProofs, logKey: MadeLogKey): object | undefined {
  const record = leaves.find(({ kind }) => kind === 'record');
  if (record === undefined || request.signature === null) return undefined;
  return withLogEntry(request.signature, record, { size, note, logKey: logKey.publicKey });
}
