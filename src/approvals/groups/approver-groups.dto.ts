import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayUnique, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { IdRef, ListOf, Name, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import type { GroupOrder, GroupWithMembers } from './approver-groups.service.js';

const MAX_MEMBERS = 500;

export class SsoGroupBody {
  /** Name of the identity provider. @example corporate */
  @Text(1, 64) provider: string;
  /** Name of the group at the identity provider. @example release-managers */
  @Text(1, 256) group: string;
}

export class ApproverGroupBody {
  /** @example 'Release managers' */
  @Name(1, 100) name: string;
  /** IDs of the users in the group. */
  @ListOf(IdRef(), { max: MAX_MEMBERS, unique: true, example: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'] })
  members: string[];
  /** Groups at identity providers. A user is a member if the provider listed the user in one of these groups at the user's last sign-in. */
  @ApiPropertyOptional({ type: [SsoGroupBody] })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @ArrayUnique(({ provider, group }: SsoGroupBody) => `${provider} ${group}`)
  @ValidateNested({ each: true })
  @Type(() => SsoGroupBody)
  ssoGroups?: SsoGroupBody[];

  toOrder(): GroupOrder {
    return { name: this.name, members: this.members, ssoGroups: this.ssoGroups ?? [] };
  }
}

export class ApproverGroupView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'Release managers' */
  name: string;
  /** IDs of the users in the group. @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"] */
  members: string[];
  ssoGroups: SsoGroupBody[];
  /** Incremented on every change. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of(group: GroupWithMembers): ApproverGroupView {
    const { members, ssoGroups, revision: version } = group;
    return viewOf(ApproverGroupView, group, { members: [...members], ssoGroups: [...ssoGroups], version });
  }
}

export class ApproverGroupPage extends PageOf(ApproverGroupView) {}
