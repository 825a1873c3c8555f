import type { ConnectionTest } from './connection-tester.js';

export class ConnectionTestView implements ConnectionTest {
  /** Whether the login worked. @example true */
  ok: boolean;
  /** @example 180 */
  milliseconds: number;
  /** Why not: docs/errors.md explains each code. @example host.key-unknown */
  code?: string;
  /** @example "The host shows the key SHA256:Dv7H…, which nobody has confirmed." */
  detail?: string;
  /** Key that the host proved to have. @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  hostKeyFingerprint?: string;
  /** @example deploy */
  user?: string;
  /** @example OpenSSH_9.2p1 */
  software?: string;
  /** @example "Debian GNU/Linux 12 (bookworm)" */
  os?: string;
  /** Whether commands can be run as root; absent when the record does not ask for it. @example true */
  becomesRoot?: boolean;
}
