import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Column, DataSource, Entity, Index, PrimaryColumn } from 'typeorm';
import { Background } from '../../platform/work/background.js';

/** A proof of possession that was accepted: a client assertion or a DPoP proof. It is not accepted again. */
@Entity('used_proof')
@Index('used_proof_expires', ['expiresAt'])
export class UsedProof {
  /** SHA-256 of the kind of proof, of whose it is, and of its `jti`. */
  @PrimaryColumn('bytea')
  hash: Buffer;

  /** From then on it is refused as too old. */
  @Column('timestamptz')
  expiresAt: Date;
}

/** What makes a proof one of a kind: `jti` is unique only among the proofs of one key or client. */
export interface ProofName {
  readonly kind: 'client-assertion' | 'dpop';
  /** The id of the client, or the thumbprint of the key. */
  readonly by: string;
  readonly jti: string;
}

/** Characters of a `jti`: what is longer is no name but a load. */
export const MAX_JTI_LENGTH = 256;

/** Whether the claim `jti` of a proof (RFC 7519 section 4.1.7) can name it. */
export function isJti(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== '' && claim.length <= MAX_JTI_LENGTH;
}

/** Remembers the proofs that were used, for all processes together. */
@Injectable()
export class UsedProofs {
  constructor(private readonly db: DataSource) {}

  /**
   * Records that a proof was used; false if it was before. Of several at once one gets true, whichever processes they reach.
   *
   * @param until from then on the proof is refused for its age
   */
  async take({ kind, by, jti }: ProofName, until: Date): Promise<boolean> {
    const hash = createHash('sha256')
      .update(JSON.stringify([kind, by, jti]))
      .digest();
    const rows: unknown[] = await this.db.query(
      `INSERT INTO used_proof (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING hash`,
      [hash, until],
    );
    return rows.length === 1;
  }

  /** Removes the records of proofs that are refused for their age. */
  @Background({ name: 'expired-proofs', scope: 'cluster', every: 15 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(`DELETE FROM used_proof WHERE expires_at < now()`);
  }
}
