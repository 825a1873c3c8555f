import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

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
