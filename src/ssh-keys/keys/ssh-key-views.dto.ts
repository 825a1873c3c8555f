import { ApiProperty } from '@nestjs/swagger';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { FINDING_RULES, type FindingRule, FINDING_SEVERITIES, type FindingSeverity } from './finding-rules.js';
import { CUSTODIES, type Custody, SSH_KEY_STATES, type SshKeyLogin, type SshKeyState } from './ssh-key.entity.js';
import type { SshKeyFinding } from './ssh-key-findings.js';
import { LOCATION_KINDS, type LocationKind, type SshKeyLocation } from './ssh-key-location.entity.js';
import type { Opened, ShownSshKey, SshKeyAccess } from './ssh-keys.reader.js';

const POSSESSIONS = ['claimed', 'proven'] as const;
type FilePossession = (typeof POSSESSIONS)[number];

export class SshKeyFindingView {
  @ApiProperty({ enum: FINDING_RULES, example: 'unrestricted' }) rule: FindingRule;
  @ApiProperty({ enum: FINDING_SEVERITIES, example: 'LOW' }) severity: FindingSeverity;
  /** ID of the location (line or file) to which the finding applies. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  locationId?: string;
  /** @example 'The line has no from=, command= or restrict option that limits its use.' */
  detail: string;

  static of(row: SshKeyFinding): SshKeyFindingView {
    return viewOf(SshKeyFindingView, present(row));
  }
}

export class SshKeyLoginView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId: string;
  /** @example deploy */
  account: string;
  /** @example 2026-11-20T14:00:00Z */
  at: Date;
  /** Source address of the login. @example 192.0.2.7 */
  source: string;
  /**
   * Line in the host's log that records the login.
   * @example 'Accepted publickey for deploy from 192.0.2.7 port 50022 ssh2: ED25519 SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og'
   */
  evidence: string;

  static of(row: SshKeyLogin): SshKeyLoginView {
    return viewOf(SshKeyLoginView, row);
  }
}

export class SshKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  /** Key type (RFC 4253 section 6.6). @example ssh-ed25519 */
  type: string;
  /** @example 256 */
  bits?: number;
  /**
   * Public key as in a .pub file. Not present if only a private key file was found and the file does not reveal the public key.
   * @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r'
   */
  publicKey?: string;
  /** @example deploy@build-7 */
  comment?: string;
  /** @example payments-team */
  owner?: string;
  /** Holder of the private key. */
  @ApiProperty({ enum: CUSTODIES, example: 'host' }) custody: Custody;
  @ApiProperty({ enum: SSH_KEY_STATES, example: 'ACTIVE' }) state: SshKeyState;
  /** ID of the key that replaced this key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  replacedBy?: string;
  /**
   * Time of the key's oldest evidence: when the service first recorded the key, or the modification time of a file owned by root, whichever is earlier.
   * @example 2024-03-01T08:00:00Z
   */
  knownSince: Date;
  /** @example 2026-11-20T14:00:00Z */
  lastSeen?: Date;
  /** Version of the key. The ETag for `If-Match` is this value in double quotes. @example 3 */
  version: number;
  lastLogin?: SshKeyLoginView;
  findings: SshKeyFindingView[];

  static of({ key, findings, lastLogin }: ShownSshKey): SshKeyView {
    return {
      id: key.id,
      fingerprint: key.fingerprint,
      type: key.type,
      bits: key.bits ?? undefined,
      publicKey: key.blob === null ? undefined : `${key.type} ${key.blob.toString('base64')}`,
      comment: key.comment ?? undefined,
      owner: key.owner ?? undefined,
      custody: key.custody,
      state: key.state,
      replacedBy: key.replacedBy ?? undefined,
      knownSince: key.knownSince,
      lastSeen: key.lastSeen ?? undefined,
      version: key.version,
      lastLogin: lastLogin && SshKeyLoginView.of(lastLogin),
      findings: findings.map((finding) => SshKeyFindingView.of(finding)),
    };
  }
}

export class SshKeyPage extends PageOf(SshKeyView) {}

export class SshKeyLocationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** `authorized-key`: a line in an authorized_keys file that authorizes the key. `private-key`: a file that, according to its host, contains the private key. */
  @ApiProperty({ enum: LOCATION_KINDS, example: 'authorized-key' }) kind: LocationKind;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId: string;
  /** @example deploy */
  account: string;
  /** @example /home/deploy/.ssh/authorized_keys */
  path: string;
  /** @example 3 */
  line?: number;
  /** Options on the line, exactly as written. @example 'from="192.0.2.0/24",no-pty' */
  options?: string;
  /** @example deploy@build-7 */
  comment?: string;
  /** Whether a passphrase protects the private key. @example true */
  passphrase?: boolean;
  /**
   * For a private key file. `claimed`: the host reported that the file contains the key, which the file's owner can forge. `proven`: a signature was created
   * with the file at `provenAt`.
   */
  @ApiProperty({ enum: POSSESSIONS, required: false, example: 'claimed' }) possession?: FilePossession;
  /** @example 2026-11-20T14:00:00Z */
  provenAt?: Date;
  /** Modification time of the file, which its owner can change. @example 2026-01-05T09:30:00Z */
  modifiedAt?: Date;
  /** @example 2026-11-01T02:00:00Z */
  firstSeen: Date;
  /** @example 2026-11-20T02:00:00Z */
  lastSeen: Date;
  /** Time at which the file was first found without the key. Null while the key is present. @example 2026-11-20T02:00:00Z */
  goneAt?: Date;

  static of(location: SshKeyLocation): SshKeyLocationView {
    const { kind } = location;
    return viewOf(SshKeyLocationView, present(location), {
      possession: kind === 'private-key' ? (location.provenAt === null ? 'claimed' : 'proven') : undefined,
    });
  }
}

export class SshKeyLocationPage extends PageOf(SshKeyLocationView) {}

export class OpenedAccountView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId: string;
  /** @example deploy */
  account: string;
  lines: SshKeyLocationView[];
  lastLogin?: SshKeyLoginView;

  static of({ hostId, account, lines, lastLogin }: Opened): OpenedAccountView {
    return {
      hostId,
      account,
      lines: lines.map((line) => SshKeyLocationView.of(line)),
      lastLogin: lastLogin && SshKeyLoginView.of(lastLogin),
    };
  }
}

export class SshKeyAccessView {
  /** @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  /** Holder of the private key, as stated by users. */
  @ApiProperty({ enum: CUSTODIES, example: 'host' }) custody: Custody;
  /** @example payments-team */
  owner?: string;
  /** Files that contain, or are reported to contain, the private key. */
  holders: SshKeyLocationView[];
  /** Accounts to which the key can log in. */
  opens: OpenedAccountView[];

  static of({ key, holders, opens }: SshKeyAccess): SshKeyAccessView {
    return {
      fingerprint: key.fingerprint,
      custody: key.custody,
      owner: key.owner ?? undefined,
      holders: holders.map((row) => SshKeyLocationView.of(row)),
      opens: opens.map((row) => OpenedAccountView.of(row)),
    };
  }
}
