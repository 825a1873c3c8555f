import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsIn, IsOptional, IsString, Length } from 'class-validator';
import type { Page } from '../../platform/http/cursors.js';
import { SCOPE_NAMES, type Scope } from '../../access/scopes.js';
import type { OAuthClient } from './oauth.entity.js';
import type { OAuthClientOrder, OAuthClientType } from './oauth-clients.service.js';

const TYPES = ['confidential', 'public'] as const;

export class CreateOAuthClientBody {
  /** @example 'deployment pipeline' */
  @IsString()
  @Length(1, 100)
  name: string;

  /** The most that its tokens are good for; you can grant only what you hold. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true, example: ['sign:digest', 'sign:read'] })
  @IsIn(SCOPE_NAMES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(64)
  @ArrayUnique()
  permissions: Scope[];

  /** A public client, such as a command line, has no secret and only acts for people (device flow). */
  @ApiProperty({ enum: TYPES, default: 'confidential' })
  @IsOptional()
  @IsIn(TYPES)
  type?: OAuthClientType;

  toOrder(): OAuthClientOrder {
    return { name: this.name, permissions: this.permissions, type: this.type ?? 'confidential' };
  }
}

export class OAuthClientView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id: string;
  /** @example 'deployment pipeline' */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true })
  permissions: Scope[];
  @ApiProperty({ enum: TYPES })
  type: OAuthClientType;
  createdAt: Date;
  revokedAt: Date | null;

  static of({ id, name, permissions, secretHash, createdAt, revokedAt }: OAuthClient): OAuthClientView {
    const type = secretHash === null ? 'public' : 'confidential';
    return { client_id: id, name, permissions, type, createdAt, revokedAt };
  }
}

export class NewOAuthClientView extends OAuthClientView {
  /** Shown this once; store it now. Absent for public clients. @example sw_client_0a1b */
  client_secret?: string;

  static withSecret(row: OAuthClient, secret: string | undefined): NewOAuthClientView {
    return Object.assign(OAuthClientView.of(row), secret === undefined ? {} : { client_secret: secret });
  }
}

export class OAuthClientPage {
  items: OAuthClientView[];
  /** null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<OAuthClient>): OAuthClientPage {
    return { items: page.items.map((row) => OAuthClientView.of(row)), nextCursor: page.nextCursor };
  }
}
