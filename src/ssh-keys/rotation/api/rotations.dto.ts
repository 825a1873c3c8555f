import { IsString, Matches } from 'class-validator';
import { Flag, IdRef, Int, ListOf, Nested, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { OneKeyLine } from '../../../platform/http/field-rules.js';
import { PageQuery } from '../../../platform/http/page.js';
import { NEW_CUSTODIES, type NewCustody, type RotationSettings } from '../model/rotation.entity.js';
import { ROTATION_STATUSES, type RotationStatus } from '../model/rotation-state.js';

const ACCOUNT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$/;
/** Names parted by single slashes; none of them is `.` or `..`. */
const KEY_FILE = /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}]+)+$/u;
const DAY = 24 * 3600;

export class PlaceBody {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IdRef() hostId: string;
  /** Login name. @example deploy */
  @IsString() @Matches(ACCOUNT, { message: 'must be a login name' }) account: string;
}

export class HolderBody extends PlaceBody {
  /** The private key file, absolute: the old private key, in a file of this account. @example /home/ci/.ssh/id_ed25519 */
  @Text(0, 500)
  @Matches(KEY_FILE, { message: 'must be an absolute path of a file, without "." and ".." and control characters' })
  path: string;
}

export class WindowBody {
  /** First hour, UTC. @example 22 */
  @Int(0, 23) from: number;
  /** Hour at which the window ends; smaller than `from` for a window across midnight. @example 4 */
  @Int(0, 23) to: number;
}

/** What a rotation that somebody asks for and one that a policy orders have in common. */
export class RotationTermsBody {
  /** Time for which both keys work after the handover, in seconds; one day by default. @example 86400 */
  @Optional(Int(1, 90 * DAY)) overlapSeconds?: number;
  /** Whether a host that cannot be rotated halts the rotation, or keeps the old key. */
  @Optional(OneOf(['halt', 'skip'], { example: 'halt' })) onFailure?: 'halt' | 'skip';
  /** Changes files that a configuration management system manages as well. @example false */
  @Optional(Flag()) ignoreManagers?: boolean;
  /** Hours in which hosts can be changed. */
  @Optional(Nested(WindowBody)) window?: WindowBody;
}

export class RotateSshKeyBody extends RotationTermsBody {
  /** Holder of the new private key. `service`: generated and encrypted by this service, released by POST /v1/keys/{id}/private-key; `hsm`: generated in the HSM, which it cannot leave; `human`: you send the public key; `host`: generated on the host that uses it, which it never leaves. */
  @Optional(OneOf(NEW_CUSTODIES, { example: 'service' })) custody?: NewCustody;
  /** The new key, for custody human. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r ann@laptop' */
  @Optional(Text(0, 20_000)) @OneKeyLine() publicKey?: string;
  /** Location of the private key, for the custody `host`. */
  @Optional(Nested(HolderBody)) holder?: HolderBody;
  /** Accounts whose keys are replaced; all known accounts by default. The first account is changed alone, then five percent, then the rest. */
  @Optional(ListOf(PlaceBody, { min: 1, max: 2000 })) targets?: PlaceBody[];
  /** Known locations that are not in `targets` keep the old key. @example false */
  @Optional(Flag()) leaveOthers?: boolean;
  /** Returns the changes line by line, and obstacles. Changes nothing. @example false */
  @Optional(Flag()) dryRun?: boolean;
  /** How long sshd accepts the new key before it was verified, in seconds; 3600 by default. @example 3600 */
  @Optional(Int(10, DAY)) verifySeconds?: number;

  static settingsOf(body: RotateSshKeyBody): RotationSettings {
    const { verifySeconds = 3600, overlapSeconds = DAY, onFailure = 'halt', leaveOthers = false } = body;
    const { ignoreManagers = false, window, holder } = body;
    return { verifySeconds, overlapSeconds, onFailure, leaveOthers, ignoreManagers, window, holder };
  }
}

export class RotationsQuery extends PageQuery {
  /** Rotations of this key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) keyId?: string;
  @Optional(OneOf(ROTATION_STATUSES)) status?: RotationStatus;
}
