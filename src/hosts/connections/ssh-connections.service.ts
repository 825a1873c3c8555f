import { Injectable } from '@nestjs/common';
import type { Duplex } from 'node:stream';
import { Problem, missing } from '../../platform/errors/problem.js';
import { HostKeysService } from '../host-keys/host-keys.service.js';
import { judgeHostKey } from '../host-keys/host-key-verdict.js';
import { sshFingerprintOf } from '../../formats/ssh/public-key.js';
import { readPublicKeyBlob } from '../host-keys/public-key-blob.js';
import { HostAddressGuard } from '../network/address-guard.service.js';
import { Host } from '../model/host.entity.js';
import { ConnectionRecords } from './connection-records.js';
import { LiveSession } from './live-session.js';
import type { Login, SshSession, ChangeSession } from '../model/ssh-session.port.js';
import { sshFaultCode, unreachable } from './ssh-fault.js';
import { type LoggedIn, openSocket, sshHandshake } from './ssh-handshake.js';
import { DataSource } from 'typeorm';

export interface OpenOptions {
  /** Login to use. Defaults to the credential of the host. */
  readonly login?: Login;
  /** Local address of the connection, to test keys restricted with `from=`. */
  readonly localAddress?: string;
  /** Time limit in milliseconds, applied separately to the connection setup, to the login, and later to each period without data. Default: 10,000. */
  readonly timeoutMs?: number;
  /** X-Request-Id or job name, recorded in the audit log. */
  readonly correlation: string;
}

const TIMEOUT_MS = 10_000;

/**
 * SshConnections is the only way to log in to a host. The host key is checked before authentication. Exactly one login is tried, and no agent is forwarded.
 * Throws Problem with a code from ssh-fault.ts or HostAddressGuard, or `host.missing`.
 */
@Injectable()
export class SshConnections {
  constructor(
    private readonly records: ConnectionRecords,
    private readonly keys: HostKeysService,
    private readonly guard: HostAddressGuard,
  ) {}

  /** Logs in to a host, through its jump hosts, if any. */
  async open(hostId: string, options: OpenOptions): Promise<SshSession> {
    const route = await this.records.route(hostId);
    const sessions: LiveSession[] = [];
    try {
      for (const [step, host] of route.entries()) {
        const isLast = step === route.length - 1;
        const login = (isLast ? options.login : undefined) ?? (await this.records.credential(route.slice(0, step + 1)));
        sessions.push(await this.hop(host, login, sessions.at(-1), options));
      }
    } catch (error) {
      for (const session of sessions) session.close();
      throw error;
    }
    return sessions.at(-1) as SshSession;
  }

  /**
   * Tests whether the host accepts this login. `denied` means that the host itself rejected the login after its host key was checked. No command is run, so
   * keys with a forced command can also be tested. Throws for any other failure.
   */
  async tryLogin(hostId: string, login: Login, options: Omit<OpenOptions, 'login'>): Promise<'accepted' | 'denied'> {
    try {
      (await this.open(hostId, { ...options, login })).close();
      return 'accepted';
    } catch (error) {
      if (sshFaultCode(error) === 'host.login-refused' && isAbout(error, hostId)) return 'denied';
      throw error;
    }
  }

  private async hop(
    host: Host,
    login: Login,
    before: LiveSession | undefined,
    options: OpenOptions,
  ): Promise<LiveSession> {
    const { timeoutMs = TIMEOUT_MS, correlation } = options;
    try {
      const stream = await this.way(host, before, { ...options, timeoutMs });
      const loggedIn = await this.greet(host, login, stream, { timeoutMs, correlation });
      const account = { hostId: host.id, user: login.user, privilege: privilegeOf(host, login) };
      await this.records.reached(host.id, loggedIn.software);
      return new LiveSession(loggedIn, account, before === undefined ? [] : before.clients());
    } catch (error) {
      await this.records.failed(host.id, error);
      throw aboutHost(error, host.id);
    }
  }

  private async way(
    host: Host,
    before: LiveSession | undefined,
    { timeoutMs, localAddress }: { timeoutMs: number; localAddress?: string },
  ): Promise<Duplex> {
    if (before === undefined) {
      const addresses = await this.guard.resolve(host.address, host.port);
      return await openSocket(addresses, { port: host.port, timeoutMs, localAddress });
    }
    // The jump host resolves names, so the service can check only literal addresses.
    this.guard.assertWritten(host.address);
    return await before.tunnel(host.address, host.port).catch((cause: unknown) => {
      throw unreachable(cause);
    });
  }

  private async greet(
    host: Host,
    login: Login,
    stream: Duplex,
    { timeoutMs, correlation }: { timeoutMs: number; correlation: string },
  ): Promise<LoggedIn> {
    const { known, certified } = await this.keys.certified(host);
    const expected = known.filter(({ state }) => state === 'pinned' || state === 'tofu-pending');
    let shown: Buffer | undefined;
    const ask = (blob: Buffer) =>
      judgeHostKey({
        known,
        shown: blob,
        policy: host.hostKeyPolicy,
        certified,
        sendsPassword: login.kind === 'password',
      });
    const judge = (blob: Buffer): Problem | undefined => {
      shown = blob;
      const { trusted, state } = ask(blob);
      return trusted ? undefined : distrust(state, blob);
    };
    const keyTypes = [...certified, ...[...expected].sort((one) => (one.state === 'pinned' ? -1 : 1))].map(
      ({ type }) => type,
    );
    let proven = false;
    const prove = () => {
      proven = true;
    };
    try {
      const allowsLegacy = host.legacyAlgorithms;
      return await sshHandshake({ stream, login, timeoutMs, allowsLegacy, keyTypes, judge, proven: prove });
    } finally {
      const key = shown === undefined ? undefined : readPublicKeyBlob(shown);
      if (key !== undefined) {
        const { state } = ask(key.blob);
        await this.keys.note(host.id, [{ key, possession: proven ? 'proven' : 'claimed', state }], correlation);
      }
    }
  }
}

/** Returns the privilege of a login. root always has root privileges. For any other login, the host record determines the privilege. */
function privilegeOf(host: Host, login: Login): Host['privilege'] {
  if (login.user === 'root') return 'root';
  return host.privilege === 'root' ? 'none' : host.privilege;
}

function distrust(state: string, blob: Buffer): Problem {
  const fingerprint = sshFingerprintOf(blob);
  if (state === 'rejected')
    return new Problem(
      'conflict',
      'host.key-rejected',
      `The host presented the key ${fingerprint}, which is marked as rejected.`,
    );
  if (state === 'changed')
    return new Problem(
      'conflict',
      'host.key-changed',
      `The host presented the key ${fingerprint} instead of the pinned key. The service did not log in.`,
    );
  return new Problem(
    'conflict',
    'host.key-unknown',
    `The host presented the key ${fingerprint}, which is not confirmed. Compare it with the host's own key, then accept it.`,
  );
}

const HOST_OF = new WeakMap<Problem, string>();

/** Records which host on the route caused a fault. If a jump host rejected the login, the destination did not. */
function aboutHost(error: unknown, hostId: string): unknown {
  if (error instanceof Problem) HOST_OF.set(error, hostId);
  return error;
}

function isAbout(error: unknown, hostId: string): boolean {
  return error instanceof Problem && HOST_OF.get(error) === hostId;
}

/** HostChanges is the only way to open a session that can change a host. Code that only reads uses `SshConnections`. */
@Injectable()
export class HostChanges {
  constructor(
    private readonly db: DataSource,
    private readonly connections: SshConnections,
  ) {}

  /**
   * Logs in to a host whose management mode is `managed`. Throws Problem `host.missing`, `host.not-managed` for an `inventory-only` host, and the
   * problems of `SshConnections.open`.
   */
  async openToChange(hostId: string, options: OpenOptions): Promise<ChangeSession> {
    await this.assertManaged(hostId);
    return (await this.connections.open(hostId, options)) as ChangeSession;
  }

  /** Throws Problem `host.missing` or `host.not-managed` unless the service may change the host. */
  async assertManaged(hostId: string): Promise<void> {
    const host = await this.db.manager.findOneBy(Host, { id: hostId });
    if (host === null) throw missing('host');
    if (host.managementMode === 'managed') return;
    throw new Problem(
      'conflict',
      'host.not-managed',
      `Host ${host.name} is only monitored. Set its managementMode to managed to let the service change it.`,
    );
  }
}
