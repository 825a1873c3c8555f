import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem, missing } from '../../platform/errors/problem.js';
import { HostCredentials } from '../credentials/host-credentials.js';
import { Host, type Reachability } from '../model/host.entity.js';
import { type Destination, MAX_JUMPS } from '../model/jump-hosts.js';
import type { Login } from '../model/ssh-session.port.js';
import { sshFaultCode } from './ssh-fault.js';

/** ConnectionRecords reads the records needed to connect to a host, and stores the outcome of the connection. */
@Injectable()
export class ConnectionRecords {
  constructor(
    private readonly db: DataSource,
    private readonly credentials: HostCredentials,
  ) {}

  /** Returns the jump hosts on the route to a host, in connection order, followed by the host itself. */
  async route(hostId: string): Promise<Host[]> {
    const route: Host[] = [];
    for (let id: string | null = hostId; id !== null;) {
      const host: Host | null = await this.db.manager.findOneBy(Host, { id });
      if (host === null) throw missing('host');
      if (route.length > MAX_JUMPS)
        throw new Problem('refused', 'host.jump-host', 'The route to the host has too many jump hosts.');
      route.unshift(host);
      id = host.jumpHostId;
    }
    return route;
  }

  /**
   * Returns the credential of the last host on the route. Throws Problem `host.no-credential` if that host has no credential, and `host.credential-elsewhere`
   * if the credential was entered for another route.
   */
  async credential(route: readonly Host[]): Promise<Login> {
    const { id, name } = route.at(-1) as Host;
    const row = await this.db.manager.findOne(Host, { where: { id }, select: { id: true, credential: true } });
    if (!row?.credential) throw new Problem('conflict', 'host.no-credential', `Host ${name} has no login credential.`);
    const { login, rebound } = await this.credentials.open(route as unknown as Destination, row.credential);
    // The condition on the old value preserves a concurrent replacement or removal of the credential.
    if (rebound !== undefined)
      await this.db.query('UPDATE host SET credential = $2 WHERE id = $1 AND credential = $3', [
        id,
        rebound,
        row.credential,
      ]);
    return login;
  }

  async reached(id: string, sshVersion: string): Promise<void> {
    const reached = { reachability: 'reachable', reachabilityCode: null, sshVersion } as const;
    await this.db.manager.update(Host, { id }, { ...reached, checkedAt: () => 'now()' });
  }

  /** Stores the operating system name reported by the host. */
  async runs(id: string, os: string): Promise<void> {
    await this.db.manager.update(Host, { id }, { os });
  }

  async failed(id: string, error: unknown): Promise<void> {
    const code = error instanceof Problem ? error.code : 'internal';
    const change = { reachability: reachabilityAfter(sshFaultCode(error)), reachabilityCode: code };
    await this.db.manager.update(Host, { id }, { ...change, checkedAt: () => 'now()' });
  }
}

function reachabilityAfter(code: string | undefined): Reachability {
  if (code === 'host.throttled') return 'throttled';
  return code === 'host.unreachable' || code === 'host.timeout' || code === 'host.lost' ? 'unreachable' : 'refused';
}
