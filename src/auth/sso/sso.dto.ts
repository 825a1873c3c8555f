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
  /** What came back behind #ticket= */
  @IsString()
  @Length(1, 200)
  ticket: string;
}

export class SsoChoiceView {
  /** @example example */
  name: string;
  @ApiProperty({ enum: ['oidc', 'saml'] })
  kind: 'oidc' | 'saml';
  /** What stands on the button. */
  label: string;
  /** Where the button leads. */
  login: string;
}

export class SsoChoices {
  items: SsoChoiceView[];
}
