import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { ClaimConditionBody } from '../../access/identity/identity.dto.js';
import { DIGEST_BYTES, type DigestAlgorithm, SCHEMES, type SignatureScheme } from '../../hsm/key-vault.js';
import { SIGNATURE_FORMATS, type SignatureFormat } from '../formats/signature-format.js';
import {
  type KeyConstraints,
  TIMESTAMP_RULES,
  isTimeZone,
  type SigningHours,
  type Weekday,
  WEEKDAYS,
} from './key-constraints.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES);
const MAX_USES = 1_000_000_000;
const CLOCK = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

export class SigningHoursBody implements SigningHours {
  @ApiProperty({ enum: WEEKDAYS, isArray: true, example: ['mon', 'tue', 'wed', 'thu', 'fri'] })
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(WEEKDAYS, { each: true })
  days: Weekday[];

  /** @example 08:00 */
  @Matches(CLOCK, { message: 'must be HH:MM' })
  from: string;

  /** Later than `from`; 24:00 is the end of the day. @example 18:00 */
  @Matches(CLOCK, { message: 'must be HH:MM' })
  @ValidateBy({
    name: 'later',
    validator: {
      validate: (until, at) =>
        typeof until === 'string' && until > ((at?.object as SigningHoursBody | undefined)?.from ?? ''),
      defaultMessage: () => 'must be later than from',
    },
  })
  until: string;

  /** A name of the IANA time zone database. @example Europe/Berlin */
  @IsString()
  @Length(1, 64)
  @ValidateBy({
    name: 'timeZone',
    validator: {
      validate: (name) => typeof name === 'string' && isTimeZone(name),
      defaultMessage: () => 'must be a time zone, for example Europe/Berlin',
    },
  })
  timeZone: string;
}

/** What the key may be used for; what is absent is not constrained. */
export class KeyConstraintsBody implements KeyConstraints {
  @ApiProperty({ enum: ALGORITHMS, isArray: true, required: false, example: ['sha256', 'sha384'] })
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(ALGORITHMS, { each: true })
  algorithms?: DigestAlgorithm[];

  @ApiProperty({ enum: SCHEMES, isArray: true, required: false, example: ['ecdsa-der'] })
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(SCHEMES, { each: true })
  schemes?: SignatureScheme[];

  @ApiProperty({ enum: SIGNATURE_FORMATS, isArray: true, required: false, example: ['cms', 'authenticode'] })
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(SIGNATURE_FORMATS, { each: true })
  formats?: SignatureFormat[];

  /** `metadata.filename` must fit one of these; `*` stands for any characters, `?` for one. @example ["app-*.tar.gz"] */
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayMaxSize(50)
  @IsString({ each: true })
  @Length(1, 200, { each: true })
  fileNames?: string[];

  /** Ids of API keys, OAuth clients or workload trusts, or of people: then for all that calls in their name. @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"] */
  @IsOptional()
  @ArrayMinSize(1)
  @ArrayMaxSize(200)
  @IsString({ each: true })
  @Length(1, 64, { each: true })
  callers?: string[];

  /** Only workloads of which an issuer proved all of these, for example the repository, the tag and the workflow. */
  @ApiProperty({ type: [ClaimConditionBody], required: false })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @ValidateNested({ each: true })
  @Type(() => ClaimConditionBody)
  verified?: ClaimConditionBody[];

  @IsOptional()
  @ValidateNested()
  @Type(() => SigningHoursBody)
  hours?: SigningHoursBody;

  @ApiProperty({ enum: TIMESTAMP_RULES, required: false, example: 'required' })
  @IsOptional()
  @IsIn(TIMESTAMP_RULES)
  timestamp?: (typeof TIMESTAMP_RULES)[number];

  /** Requests that are accepted in a day (UTC). @example 500 */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_USES)
  perDay?: number;

  /** Requests that are accepted ever. @example 100000 */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_USES)
  lifetime?: number;
}
