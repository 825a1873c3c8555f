import { ApiProperty } from '@nestjs/swagger';
import { present, viewOf } from '../platform/http/fields/view-of.js';
import { PageOf } from '../platform/http/fields/page-of.js';
import type { ConnectionTest } from './connections/connection-tester.js';
import type {
  Host,
  HostCredentialKind,
  HostKeyPolicy,
  Labels,
  ManagementMode,
  Privilege,
  Reachability,
} from './model/host.entity.js';
import { type DroppedByChange, isNothing } from './records/host-moves.js';

export class CredentialView {
  /** @example deploy */
  user: string;
  kind: HostCredentialKind;
  /** Fingerprint of the login key. @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  fingerprint?: string;
}

export class HostView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example web-1.example.com */
  name: string;
  /** @example 192.0.2.10 */
  address: string;
  /** @example 22 */
  port: number;
  /** @example {"env": "prod"} */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } }) labels: Labels;
  /** @example "Platform team" */
  owner?: string;
  /** @example production */
  environment?: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  jumpHostId?: string;
  hostKeyPolicy: HostKeyPolicy;
  managementMode: ManagementMode;
  privilege: Privilege;
  /** Whether logins may use SHA-1 and CBC-mode ciphers. @example false */
  legacyAlgorithms: boolean;
  /** Login name and method. The secret is never returned. */
  credential?: CredentialView;
  /** @example "Debian GNU/Linux 12 (bookworm)" */
  os?: string;
  /** @example OpenSSH_9.2p1 */
  sshVersion?: string;
  reachability: Reachability;
  /** Problem code of the last failed attempt. @example host.key-changed */
  reachabilityCode?: string;
  checkedAt?: Date;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  lastScanId?: string;
  /** Version of the host. The ETag is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of(row: Host): HostView {
    return viewOf(HostView, present(row), { credential: credentialView(row) });
  }
}

function credentialView({ loginUser, credentialKind, credentialFingerprint }: Host): CredentialView | undefined {
  if (loginUser === null || credentialKind === null) return undefined;
  return { user: loginUser, kind: credentialKind, fingerprint: credentialFingerprint ?? undefined };
}

export class HostPage extends PageOf(HostView) {}

export class DroppedView implements DroppedByChange {
  /** Whether the host's credential was removed. If true, the credential must be entered again. @example true */
  credential: boolean;
  /** Number of host keys that must be confirmed again. @example 1 */
  pinnedKeys: number;
  /** Number of hosts that are reached through this host and whose credentials were removed. @example 0 */
  credentialsBehind: number;
}

export class ChangedHostView extends HostView {
  /** Values that the change removed because they belonged to the previous destination. Not present if nothing was removed. */
  dropped?: DroppedView;

  static after(row: Host, dropped: DroppedByChange): ChangedHostView {
    return Object.assign(new ChangedHostView(), HostView.of(row), isNothing(dropped) ? {} : { dropped });
  }
}

export class ConnectionTestView implements ConnectionTest {
  /** Whether the login succeeded. @example true */
  ok: boolean;
  /** @example 180 */
  milliseconds: number;
  /** Problem code of the failure. docs/errors.md explains each code. @example host.key-unknown */
  code?: string;
  /** @example "The host presented the key SHA256:Dv7H…, which is not confirmed." */
  detail?: string;
  /** Fingerprint of the host key, if the host proved possession of the key. @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  hostKeyFingerprint?: string;
  /** @example deploy */
  user?: string;
  /** @example OpenSSH_9.2p1 */
  software?: string;
  /** @example "Debian GNU/Linux 12 (bookworm)" */
  os?: string;
  /** Whether commands can be run as root. Not present if the host's `privilege` is `none`. @example true */
  becomesRoot?: boolean;
  /**
   * Reason why commands cannot be run as root.
   * @example 'sudo on the host does not run commands as root (sudo: a password is required).'
   */
  privilegeDetail?: string;
}

export class ManyHostsItemView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example web-1.example.com */
  name: string;
  /** Problem code, if the host was not changed. @example request.stale */
  code?: string;
  /** @example 'The resource was changed since you read it. Read it again.' */
  detail?: string;
}

export class ManyHostsView {
  /** Whether the changes were stored. False for a dry run. @example true */
  stored: boolean;
  /** Hosts that have the requested labels, sorted by name. */
  items: ManyHostsItemView[];
}
