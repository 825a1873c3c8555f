import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length, MaxLength } from 'class-validator';

export class SsoLoginQuery {
  /** Name of the identity provider; not needed when there is one. */
  @IsOptional()
  @IsString()
  @Length(1, 40)
  provider?: string;

  /** Path on this site to go to afterwards; the ticket is added behind the #. */
  @IsOptional()
  @IsString()
  @MaxLength(500)
  returnTo?: string;
}

export class SamlMetadataQuery {
  @IsOptional()
  @IsString()
  @Length(1, 40)
  provider?: string;
}

export class TicketBody {
  /** What came back behind #ticket= @example sw_session_0a1b */
  @IsString()
  @Length(1, 200)
  ticket: string;
}

export class SsoChoiceView {
  /** @example example */
  name: string;
  @ApiProperty({ enum: ['oidc', 'saml'] })
  kind: 'oidc' | 'saml';
  /** What stands on the button. @example 'Sign in with Example' */
  label: string;
  /** Where the button leads. @example /api/auth/oidc/login?provider=example */
  login: string;
}

export class SsoChoices {
  items: SsoChoiceView[];
}
