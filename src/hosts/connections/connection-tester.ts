import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import type { SshSession } from '../model/ssh-session.port.js';
import { HostsReader } from '../records/hosts.reader.js';
import { ConnectionRecords } from './connection-records.js';
import { SshConnections } from './ssh-connections.service.js';

export interface ConnectionTest {
  readonly ok: boolean;
  readonly milliseconds: number;
  /** Problem code of a failure. */
  readonly code?: string;
  readonly detail?: string;
  readonly hostKeyFingerprint?: string;
  readonly user?: string;
  readonly software?: string;
  readonly os?: string;
  /** Whether commands can be run as root. Undefined if the host's `privilege` is `none`. */
  readonly becomesRoot?: boolean;
  /** Reason why commands cannot be run as root. */
  readonly privilegeDetail?: string;
}

const OS_NAME = `. /etc/os-release 2>/dev/null && printf '%s' "$PRETTY_NAME" || uname -sr`;

async function becomesRoot(session: SshSession): Promise<Pick<ConnectionTest, 'becomesRoot' | 'privilegeDetail'>> {
  try {
    const { stdout } = await session.run('id -u', { as: 'root', maxBytes: 64 });
    return { becomesRoot: stdout.toString().trim() === '0' };
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'host.privilege')) throw error;
    return { becomesRoot: false, privilegeDetail: error.message };
  }
}

/** ConnectionTester tests the connection to a host: the address, the host key, the login, and privilege elevation. */
@Injectable()
export class ConnectionTester {
  constructor(
    private readonly hosts: HostsReader,
    private readonly connections: SshConnections,
    private readonly records: ConnectionRecords,
  ) {}

  /** Tests a host. A failed login is returned as a result, not thrown. Throws Problem `host.missing`. */
  async test(caller: Caller, id: string): Promise<ConnectionTest> {
    const host = await this.hosts.get(id);
    const start = performance.now();
    const took = () => Math.round(performance.now() - start);
    try {
      const session = await this.connections.open(id, { correlation: caller.origin.requestId });
      try {
        const os = await session.run(OS_NAME, { maxBytes: 4096 });
        const name = os.stdout
          .toString()
          .replaceAll(/[^\x20-\x7e]/g, '')
          .slice(0, 200);
        if (name !== '') await this.records.runs(id, name);
        const { hostKeyFingerprint, user, software } = session;
        const root = host.privilege === 'none' ? {} : await becomesRoot(session);
        return { ok: true, milliseconds: took(), hostKeyFingerprint, user, software, os: name, ...root };
      } finally {
        session.close();
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'host.missing') throw error;
      return { ok: false, milliseconds: took(), code: error.code, detail: error.message };
    }
  }
}
