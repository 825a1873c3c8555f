import { IsString, Matches } from 'class-validator';
import { Flag, IdRef, Int, ListOf, Nested, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { OneKeyLine } from '../../../platform/http/field-rules.js';
import { PageQuery } from '../../../platform/http/page.js';
import { NEW_CUSTODIES, type NewCustody, type RotationSettings } from '../model/rotation.entity.js';
import { ROTATION_STATUSES, type RotationStatus } from '../model/rotation-state.js';

const ACCOUNT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$/;
/** Names separated by single slashes, none of which is `.` or `..`. */
const KEY_FILE = /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}]+)+$/u;
const DAY = 24 * 3600;

export class PlaceBody {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IdRef() hostId: string;
  /** Login name. @example deploy */
  @IsString() @Matches(ACCOUNT, { message: 'must be a login name' }) account: string;
}

export class HolderBody extends PlaceBody {
  /** Absolute path of the file that contains the old private key. The file must be owned by `account`. @example /home/ci/.ssh/id_ed25519 */
  @Text(0, 500)
  @Matches(KEY_FILE, { message: 'must be an absolute file path without ".", ".." or control characters' })
  path: string;
}

export class WindowBody {
  /** First hour of the window (UTC). @example 22 */
  @Int(0, 23) from: number;
  /** Hour at which the window ends (UTC). Smaller than `from` if the window spans midnight. @example 4 */
  @Int(0, 23) to: number;
}

/** RotationTermsBody contains the settings that rotations by users and by policies have in common. */
export class RotationTermsBody {
  /** Seconds for which both keys work after the handover. Defaults to one day. @example 86400 */
  @Optional(Int(1, 90 * DAY)) overlapSeconds?: number;
  /** `halt`: a host that cannot be rotated halts the rotation. `skip`: the host keeps the old key. */
  @Optional(OneOf(['halt', 'skip'], { example: 'halt' })) onFailure?: 'halt' | 'skip';
  /** Whether to change files that a configuration management system also manages. @example false */
  @Optional(Flag()) ignoreManagers?: boolean;
  /** Hours in which hosts can be changed. */
  @Optional(Nested(WindowBody)) window?: WindowBody;
}

export class RotateSshKeyBody extends RotationTermsBody {
  /**
   * Holder of the new private key. `service`: generated and encrypted by this service, released by POST /v1/keys/{id}/private-key. `hsm`: generated in the HSM,
   * which it cannot leave. `human`: you send the public key. `host`: generated on the host that uses it, which it never leaves.
   */
  @Optional(OneOf(NEW_CUSTODIES, { example: 'service' })) custody?: NewCustody;
  /** New public key, for custody `human`. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r ann@laptop' */
  @Optional(Text(0, 20_000)) @OneKeyLine() publicKey?: string;
  /** Location of the private key, for custody `host`. */
  @Optional(Nested(HolderBody)) holder?: HolderBody;
  /** Accounts whose keys are replaced. Defaults to all known accounts. The first account is changed alone, then five percent, then the rest. */
  @Optional(ListOf(PlaceBody, { min: 1, max: 2000 })) targets?: PlaceBody[];
  /** Whether known locations that are not in `targets` keep the old key. @example false */
  @Optional(Flag()) leaveOthers?: boolean;
  /** Whether to return the line-by-line changes and any obstacles without changing anything. @example false */
  @Optional(Flag()) dryRun?: boolean;
  /** Seconds for which sshd accepts the new key before it is verified. Defaults to 3600. @example 3600 */
  @Optional(Int(10, DAY)) verifySeconds?: number;

  static settingsOf(body: RotateSshKeyBody): RotationSettings {
    const { verifySeconds = 3600, overlapSeconds = DAY, onFailure = 'halt', leaveOthers = false } = body;
    const { ignoreManagers = false, window, holder } = body;
    return { verifySeconds, overlapSeconds, onFailure, leaveOthers, ignoreManagers, window, holder };
  }
}

export class RotationsQuery extends PageQuery {
  /** Limits the list to rotations of this key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) keyId?: string;
  @Optional(OneOf(ROTATION_STATUSES)) status?: RotationStatus;
}
