import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Matches, MaxLength, ValidateIf } from 'class-validator';
import { IdRef, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import { PageQuery } from '../../platform/http/page.js';
import { FINDING_RULES, type FindingRule } from './finding-rules.js';
import { CUSTODIES, type Custody, SSH_KEY_STATES, type SshKeyState } from './ssh-key.entity.js';

export class SshKeysQuery extends PageQuery {
  /** Fingerprint of the key. @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  @IsOptional()
  @Matches(/^SHA256:[A-Za-z0-9+/]{43}$/, { message: 'must be "SHA256:" followed by 43 base64 characters' })
  fingerprint?: string;
  /** Returns only keys with a finding from this rule. */
  @Optional(OneOf(FINDING_RULES)) finding?: FindingRule;
  /** Returns only keys that are located on this host. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) hostId?: string;
  /** @example payments-team */
  @Optional(Text(0, 200)) owner?: string;
  @Optional(OneOf(SSH_KEY_STATES)) state?: SshKeyState;
}

export class EnterSshKeyBody {
  /** Public key as in a .pub file. @example 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r ann@laptop' */
  @Text(0, 20_000) @OneKeyLine() publicKey: string;
  /** Owner of the key. @example payments-team */
  @Optional(Text(0, 200)) owner?: string;
  /** Holder of the private key. */
  @Optional(OneOf(CUSTODIES, { example: 'human' })) custody?: Custody;
}

export class AssignSshKeyBody {
  /** Owner of the key. null removes the owner. @example payments-team */
  @ApiProperty({ type: String, nullable: true, maxLength: 200, example: 'payments-team' })
  @ValidateIf((_, value) => value !== null)
  @IsString()
  @MaxLength(200)
  owner: string | null;
}
