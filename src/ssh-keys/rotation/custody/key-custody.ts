import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { HsmSeal } from '../../../hsm/hsm-seal.js';
import { type KeyIdentity, KeyVault, type VaultKey } from '../../../hsm/key-vault.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { newEd25519Pair } from '../../../formats/ssh/key-pair.js';
import { keyBitsOf, sshFingerprintOf, type SshPublicKey, sshPublicKeyOfSpki } from '../../../formats/ssh/public-key.js';
import { SshKeySecret, SshKey } from '../../keys/ssh-key.entity.js';
import { type NewCustody, type Rotation, ROTATION_ACTOR } from '../model/rotation.entity.js';

/** Seal purpose of private keys. The seal is bound to the key ID. */
const PURPOSE = 'ssh private key';

/** MadeKey is a new key that is not yet recorded. Its private key is sealed or in the HSM before any host receives the public key. */
export interface MadeKey {
  readonly key: Pick<SshKey, 'id' | 'fingerprint' | 'type' | 'bits' | 'blob' | 'comment' | 'owner' | 'custody'>;
  readonly secret?: Pick<SshKeySecret, 'keyId' | 'sealed' | 'ckaId'>;
}

/** KeyCustody generates SSH keys, and stores the private keys that are in the custody of the service or the HSM. */
@Injectable()
export class KeyCustody {
  constructor(
    private readonly db: DataSource,
    private readonly seals: HsmSeal,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
  ) {}

  /** Generates an Ed25519 key pair and seals the private key with an HSM key. */
  async makeSealed(comment: string, owner: string | null): Promise<MadeKey> {
    const id = newId();
    const { publicKey, privateKey } = newEd25519Pair(comment);
    const sealed = await this.seals.close(PURPOSE, id, privateKey);
    privateKey.fill(0);
    return {
      key: rowOf(id, publicKey, { comment, owner, custody: 'service' }),
      secret: { keyId: id, sealed, ckaId: null },
    };
  }

  /** Generates an EC P-256 key pair in the HSM. The private key cannot leave the HSM (CKA_EXTRACTABLE is false). */
  async makeInHsm(comment: string, owner: string | null): Promise<MadeKey> {
    const id = newId();
    const ckaId = randomBytes(16);
    const { publicKey } = await this.vault.generate({ ckaId, identity: identityOf(id), type: 'ec-p256' });
    const key = rowOf(id, sshPublicKeyOfSpki(publicKey), { comment, owner, custody: 'hsm' });
    return { key, secret: { keyId: id, sealed: null, ckaId } };
  }

  /** Returns a key that was generated outside the service. */
  known(publicKey: SshPublicKey & { comment: string }, owner: string | null, custody: NewCustody): MadeKey {
    return { key: rowOf(newId(), publicKey, { comment: publicKey.comment || null, owner, custody }) };
  }

  /**
   * Records the new key of a rotation in the database and in the audit log, so that the rotation cannot install any other key and a policy can verify the
   * custody of the key. Returns the ID of the key, which is the existing ID if the key was already known.
   */
  async keep(
    tx: EntityManager,
    { key, secret }: MadeKey,
    { id: rotationId, keyId: replaces, correlation }: Pick<Rotation, 'id' | 'keyId' | 'correlation'>,
  ): Promise<string> {
    const [row]: { id: string; version: number }[] = await tx.query(
      `INSERT INTO ssh_key AS k (id, fingerprint, type, bits, blob, comment, owner, custody) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (fingerprint) DO UPDATE SET blob = excluded.blob, custody = excluded.custody,
         owner = coalesce(k.owner, excluded.owner), comment = coalesce(k.comment, excluded.comment), version = k.version + 1
       RETURNING id, version`,
      [key.id, key.fingerprint, key.type, key.bits, key.blob, key.comment, key.owner, key.custody],
    );
    if (secret !== undefined) await tx.insert(SshKeySecret, secret);
    const { id: keyId, version: edit } = row as { id: string; version: number };
    const { fingerprint, custody } = key;
    const by = { actor: ROTATION_ACTOR, correlation };
    await this.audit.append(tx, [
      {
        ...by,
        action: 'ssh-rotation.key-made',
        target: { kind: 'ssh-rotation', id: rotationId },
        detail: { keyId, fingerprint, custody },
      },
      {
        ...by,
        action: 'ssh-key.entered',
        target: { kind: 'ssh-key', id: keyId },
        detail: { fingerprint, custody, replaces, edit },
      },
    ]);
    return keyId;
  }

  /** Opens a sealed private key: `openssh-key-v1` in PEM. Throws Problem `ssh-key.not-held`. */
  async open(keyId: string): Promise<Buffer> {
    const secret = await this.db.manager.findOneBy(SshKeySecret, { keyId });
    if (secret?.sealed) return this.seals.open(PURPOSE, keyId, secret.sealed);
    throw new Problem('conflict', 'ssh-key.not-held', 'The service does not have the private key.');
  }

  /** Returns the attributes that identify a key in the HSM. Throws Problem `ssh-key.not-held`. */
  async inHsm(keyId: string): Promise<Pick<VaultKey, 'ckaId' | 'identity'>> {
    const secret = await this.db.manager.findOneBy(SshKeySecret, { keyId });
    if (secret?.ckaId) return { ckaId: secret.ckaId, identity: identityOf(keyId) };
    throw new Problem('conflict', 'ssh-key.not-held', 'The service does not have the private key.');
  }
}

function identityOf(id: string): KeyIdentity {
  return { purpose: 'ssh-key', owner: id };
}

function rowOf(
  id: string,
  publicKey: SshPublicKey,
  about: Pick<SshKey, 'comment' | 'owner' | 'custody'>,
): MadeKey['key'] {
  const { blob, type } = publicKey;
  return { id, fingerprint: sshFingerprintOf(blob), type, bits: keyBitsOf(publicKey), blob, ...about };
}
