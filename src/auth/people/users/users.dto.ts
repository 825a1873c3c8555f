import { viewOf } from '../../../platform/http/fields/view-of.js';
import { Flag, ListOf, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { PageOf } from '../../../platform/http/fields/page-of.js';
import { PageQuery } from '../../../platform/http/page.js';
import { IsPlainAddress } from '../../model/plain-address.js';
import { ApiProperty } from '@nestjs/swagger';
import { IsEmail, MaxLength } from 'class-validator';
import { ROLE_NAMES, type RoleName } from '../../../access/scopes.js';
import type { Invitation } from './invitation.entity.js';
import type { UserChange, UserWithProviders } from './user-administration.service.js';

export class ChangeUserBody {
  @Optional(ListOf(OneOf(ROLE_NAMES), { max: ROLE_NAMES.length, unique: true, example: ['operator'] }))
  roles?: RoleName[];
  /** Disables or enables the user. All sessions, tokens and API keys of a disabled user are refused within five seconds. */
  @Optional(Flag()) disabled?: boolean;

  toChange(): UserChange {
    const { roles, disabled } = this;
    return { ...(roles === undefined ? {} : { roles }), ...(disabled === undefined ? {} : { disabled }) };
  }
}

export class InviteBody {
  /** @example ada@example.com */
  @IsEmail() @IsPlainAddress() @MaxLength(254) email: string;
  /** Roles of the user. You can grant only roles whose scopes you have. */
  @ListOf(OneOf(ROLE_NAMES), { max: ROLE_NAMES.length, unique: true, example: ['operator'] }) roles: RoleName[];
}

export class UserView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example ada@example.com */
  email: string;
  @ApiProperty({ enum: ROLE_NAMES, isArray: true }) roles: RoleName[];
  disabled: boolean;
  /** Names of the identity providers through which the user signs in. Empty for a user who signs in only with a password. */
  @ApiProperty({ type: [String], example: ['main'] }) providers: string[];
  createdAt: Date;

  static of(row: UserWithProviders): UserView {
    return viewOf(UserView, row);
  }
}

export class UsersQuery extends PageQuery {
  /** Only users with this email address. A trailing `*` matches every address that starts with the characters before the `*`. @example ada@example.com */
  @Optional(Text(1, 320)) email?: string;
}

export class UserPage extends PageOf(UserView) {}

export class InvitationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example ada@example.com */
  email: string;
  @ApiProperty({ enum: ROLE_NAMES, isArray: true }) roles: RoleName[];
  /** The user who sent the invitation. @example admin@example.com */
  invitedBy: string;
  createdAt: Date;
  expiresAt: Date;

  static of(row: Invitation): InvitationView {
    return viewOf(InvitationView, row);
  }
}

export class NewInvitationView extends InvitationView {
  /**
   * Link for the invited user, which cannot be retrieved again. Absent if the link was sent by email.
   * @example https://sign.example.com/account#invitation=sw_mail_0a1b
   */
  link?: string;

  static withLink(row: Invitation, link: string | undefined): NewInvitationView {
    return Object.assign(InvitationView.of(row), link === undefined ? {} : { link });
  }
}

export class InvitationPage extends PageOf(InvitationView) {}
