import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SEALED_WORKLOAD_TOKEN, type VerifiedIdentity } from '../../access/identity/verified-identity.js';
import type { PublicJwk } from '../../formats/jose/json-web-key.js';
import { LastingSeal } from '../../platform/sealing/lasting-seal.js';

/** A verified identity with what proves it to a stranger. */
export interface WorkloadProof {
  readonly identity: VerifiedIdentity;
  /** The token as signed by the issuer; absent while another service may accept it. */
  readonly token?: string;
  /** When the token may be shown, if it may not be shown yet. */
  readonly tokenFrom?: Date;
  /** The key of the issuer that verified the token, as published at that time. */
  readonly key: PublicJwk;
}

/** Services accept tokens for some minutes after their end, since clocks differ. */
const ACCEPTED_LATE_SECONDS = 600;

/** Reads the proof of the identity of the workload that requested a signature. */
@Injectable()
export class WorkloadProofReader {
  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
  ) {}

  /**
   * A token that is valid, or was until recently, is not shown: another service with the same audience might accept it. Problems are those of the KeyVault,
   * and `secret.not-openable`.
   */
  async of(identity: VerifiedIdentity | null): Promise<WorkloadProof | undefined> {
    if (identity === null) return undefined;
    const [row]: { token: Buffer; from: Date; isOver: boolean; key: PublicJwk }[] = await this.db.query(
      `SELECT token, over AS "from", over < now() AS "isOver", key
       FROM workload_identity, LATERAL (SELECT token_expires_at + make_interval(secs => $2) AS over) late WHERE id = $1`,
      [identity.id, ACCEPTED_LATE_SECONDS],
    );
    if (row === undefined) throw new Error('identities of workloads are never deleted');
    const { token: sealed, from: tokenFrom, isOver, key } = row;
    if (!isOver) return { identity, key, tokenFrom };
    const token = await this.seal.open(SEALED_WORKLOAD_TOKEN.purpose, identity.id, sealed);
    return { identity, key, token: token.toString() };
  }
}
