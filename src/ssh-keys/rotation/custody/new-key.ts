import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Host } from '../../../hosts/model/host.entity.js';
import type { Login } from '../../../hosts/model/ssh-session.port.js';
import { HostsService } from '../../../hosts/records/hosts.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import { spkiOf } from '../../../formats/ssh/public-key.js';
import { HostResidentKey } from './host-resident-key.js';
import { KeyCustody } from './key-custody.js';
import { KeyTrial, type Verdict } from './key-trial.js';
import { commentAfter, type ReadyWork, requesterOf, type Work } from '../model/rotation-work.js';

/** Problem codes that mean that the holder, or the holder's host, must no longer be changed. */
const UNCHANGEABLE_CODES = ['rotation.holder-unproven', 'host.not-managed', 'host.missing'];

/** NewKey generates, tries, hands over and abandons the new key of a rotation, as the key's custody requires. */
@Injectable()
export class NewKey {
  constructor(
    private readonly db: DataSource,
    private readonly custody: KeyCustody,
    private readonly trial: KeyTrial,
    private readonly resident: HostResidentKey,
    private readonly hosts: HostsService,
  ) {}

  /** Makes a host generate the key, and records the key. Returns the ID of the key. */
  async make({ rotation, old }: Work): Promise<string> {
    const key = this.custody.known(
      await this.resident.make(rotation, commentAfter(old, rotation.id)),
      old.owner,
      'host',
    );
    return this.db.transaction(async (tx) => {
      const id = await this.custody.keep(tx, key, rotation);
      await tx.query(`UPDATE ssh_rotation SET next_key_id = $1 WHERE id = $2 AND next_key_id IS NULL`, [
        id,
        rotation.id,
      ]);
      return id;
    });
  }

  /** Tries the new key with a complete login from the holder's location. A user's key is tried only as far as possible without the private key. */
  async try({ rotation, target, next }: ReadyWork): Promise<Verdict> {
    const { hostId, account } = target;
    const login = { hostId, account, correlation: rotation.correlation };
    switch (rotation.custody) {
      case 'service':
        return this.trial.withPrivateKey(login, await this.custody.open(next.id));
      case 'hsm': {
        const key = { ...(await this.custody.inHsm(next.id)), type: 'ec-p256', publicKey: spkiOf(next) } as const;
        return this.trial.withHsmKey(login, next.blob, key);
      }
      case 'human':
        return this.trial.wouldAccept(login, next.blob);
      case 'host':
        return this.resident.try(rotation, target, 'new');
    }
  }

  /** Asserts that the host that will receive the new key possesses the old private key. Throws Problem `rotation.holder-unproven`. */
  async assertHeld(work: Work): Promise<void> {
    await this.resident.prove(work);
  }

  /** Reports whether the service itself logs in to the host with the old key. */
  async isOwnLogin({ target, old }: Work): Promise<boolean> {
    const host = await this.host(target.hostId);
    return host.credentialFingerprint === old.fingerprint;
  }

  /** Returns a login with the old key for a host that rejects its stored credential, or undefined if the service does not hold the old private key. */
  async oldLogin({ old, target }: Work): Promise<Login | undefined> {
    const privateKey = await this.custody.open(old.id).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'ssh-key.not-held') return undefined;
      throw error;
    });
    return privateKey && { kind: 'private-key', user: target.account, privateKey: privateKey.toString() };
  }

  /** Hands the new key over to the holder. */
  async handOver(work: ReadyWork): Promise<void> {
    const { rotation, target, next } = work;
    if (rotation.custody === 'host') return this.resident.takeOver(rotation);
    if (rotation.custody !== 'service' || !(await this.isOwnLogin(work))) return;
    const host = await this.host(target.hostId);
    const credential = {
      user: host.loginUser ?? target.account,
      privateKey: (await this.custody.open(next.id)).toString(),
    };
    // The change is recorded as made by the requester of the rotation.
    await this.hosts.update(requesterOf(rotation), host.id, host.version, { credential });
  }

  /** Removes the data that was kept for a rollback. */
  async discardOld({ rotation }: ReadyWork): Promise<void> {
    if (rotation.custody === 'host') await this.resident.forgetOld(rotation);
  }

  /** Removes the new key from its holder. If the holder must no longer be changed, leaves the key there, where it grants no access, and returns the reason. */
  async abandon({ rotation }: Work): Promise<string | undefined> {
    if (rotation.custody !== 'host' || rotation.nextKeyId === null) return undefined;
    try {
      await this.resident.forgetNew(rotation);
    } catch (error) {
      if (error instanceof Problem && UNCHANGEABLE_CODES.includes(error.code)) return error.message;
      throw error;
    }
    return undefined;
  }

  private host(id: string): Promise<Host> {
    return this.db.manager.findOneByOrFail(Host, { id });
  }
}
