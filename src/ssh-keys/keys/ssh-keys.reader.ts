import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import type { FindingRule } from './finding-rules.js';
import { SshKeyFinding } from './ssh-key-findings.js';
import { SshKey, SshKeyLogin, type SshKeyState } from './ssh-key.entity.js';
import { SshKeyLocation } from './ssh-key-location.entity.js';

export interface SshKeyFilter extends PageQuery {
  readonly fingerprint?: string;
  readonly finding?: FindingRule;
  readonly hostId?: string;
  readonly owner?: string;
  readonly state?: SshKeyState;
}

/** ShownSshKey is a key with its findings and its latest login. */
export interface ShownSshKey {
  readonly key: SshKey;
  readonly findings: SshKeyFinding[];
  readonly lastLogin: SshKeyLogin | undefined;
}

/** Opened is an account that a key can log in to. */
export interface Opened {
  readonly hostId: string;
  readonly account: string;
  readonly lines: SshKeyLocation[];
  readonly lastLogin: SshKeyLogin | undefined;
}

/** SshKeyAccess describes the access that one key provides: the locations of its private key, and the accounts that the key can log in to. */
export interface SshKeyAccess {
  readonly key: SshKey;
  readonly holders: SshKeyLocation[];
  readonly opens: Opened[];
}

@Injectable()
export class SshKeysReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async list(filter: SshKeyFilter): Promise<Page<ShownSshKey>> {
    const { limit, cursor, fingerprint, finding, hostId, owner, state } = filter;
    const list = `ssh-keys ${JSON.stringify([fingerprint, finding, hostId, owner, state])}`;
    const query = this.db.createQueryBuilder(SshKey, 'key');
    if (fingerprint !== undefined) query.andWhere('key.fingerprint = :fingerprint', { fingerprint });
    if (owner !== undefined) query.andWhere('key.owner = :owner', { owner });
    if (state !== undefined) query.andWhere('key.state = :state', { state });
    if (finding !== undefined)
      query.andWhere('key.id IN (SELECT key_id FROM ssh_key_finding WHERE rule = :finding)', { finding });
    if (hostId !== undefined)
      query.andWhere('key.id IN (SELECT key_id FROM ssh_key_location WHERE host_id = :hostId AND gone_at IS NULL)', {
        hostId,
      });
    const page = await this.cursors.newest(list, query, { limit, cursor });
    return { ...page, items: await this.shown(page.items) };
  }

  async get(id: string): Promise<ShownSshKey> {
    const [shown] = await this.shown([await this.key(id)]);
    if (shown === undefined) throw missing('ssh-key');
    return shown;
  }

  /** Returns the current and past locations of the key, newest sighting first. */
  async locations(id: string, filter: PageQuery): Promise<Page<SshKeyLocation>> {
    await this.key(id);
    const list = `ssh-key-locations ${id}`;
    const query = this.db.createQueryBuilder(SshKeyLocation, 'location').where('location.keyId = :id', { id });
    return this.cursors.newest(list, query, filter);
  }

  async access(id: string): Promise<SshKeyAccess> {
    const key = await this.key(id);
    const present = await this.db
      .createQueryBuilder(SshKeyLocation, 'location')
      .where('location.keyId = :id AND location.goneAt IS NULL', { id })
      .orderBy('location.hostId')
      .addOrderBy('location.path')
      .addOrderBy('location.line')
      .take(MAX_PLACES)
      .getMany();
    const logins = await this.db.manager.findBy(SshKeyLogin, { keyId: id });
    const lines = present.filter(({ kind }) => kind === 'authorized-key');
    const accounts = Map.groupBy(lines, ({ hostId, account }) => `${hostId} ${account}`);
    const opens = [...accounts.values()].map((of): Opened => {
      const { hostId, account } = of[0] as SshKeyLocation;
      const lastLogin = logins.find((login) => login.hostId === hostId && login.account === account);
      return { hostId, account, lines: of, lastLogin };
    });
    return { key, holders: present.filter(({ kind }) => kind === 'private-key'), opens };
  }

  private async key(id: string): Promise<SshKey> {
    const key = await this.db.manager.findOneBy(SshKey, { id });
    if (key === null) throw missing('ssh-key');
    return key;
  }

  private async shown(keys: SshKey[]): Promise<ShownSshKey[]> {
    const ids = keys.map(({ id }) => id);
    const findings: SshKeyFinding[] = await this.db
      .createQueryBuilder(SshKeyFinding, 'finding')
      .where('finding.keyId = ANY(:ids)', { ids })
      .orderBy('finding.rule')
      .getMany();
    const logins = await this.db
      .createQueryBuilder(SshKeyLogin, 'login')
      .distinctOn(['login.keyId'])
      .where('login.keyId = ANY(:ids)', { ids })
      .orderBy('login.keyId')
      .addOrderBy('login.at', 'DESC')
      .getMany();
    return keys.map((key) => ({
      key,
      findings: findings.filter(({ keyId }) => keyId === key.id),
      lastLogin: logins.find(({ keyId }) => keyId === key.id),
    }));
  }
}

/** Maximum number of locations of one key in a response. */
const MAX_PLACES = 5000;
