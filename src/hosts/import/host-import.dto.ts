import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayUnique, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { Flag, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { CredentialBody } from '../records/hosts.dto.js';
import { IMPORT_FORMATS, type ImportFormat, type ItemFault } from './import-result.js';
import { IMPORT_OUTCOMES, type ImportedItem, type ImportOutcome, type ImportReport } from './host-import.service.js';

export const MAX_CHARACTERS = 2_000_000;

/** ImportCredentialBody is a named credential in an import. Rows refer to the credential by name. */
export class ImportCredentialBody extends CredentialBody {
  /** @example default */
  @Text(1, 64) name: string;
}

export class ImportHostsBody {
  @OneOf(IMPORT_FORMATS, { example: 'known-hosts' }) format: ImportFormat;
  /** Content of the file. @example "name,address,label.env\nweb-1,192.0.2.10,prod\n" */
  @Text(1, MAX_CHARACTERS) text: string;
  /** Whether to trust the host keys in the file immediately. Use only for a file from a trusted source. @example false */
  @Optional(Flag()) pin?: boolean;
  /**
   * Credentials by name. A host gets the credential named in its `credential` column. Without that column, the host gets the credential named `default`, if the
   * import contains one. The login name is taken from the file (the `user` column, or `User` in ssh_config), otherwise from the credential.
   */
  @ApiProperty({ type: () => [ImportCredentialBody], required: false, example: [] })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @ArrayUnique(({ name }: ImportCredentialBody) => name)
  @ValidateNested({ each: true })
  @Type(() => ImportCredentialBody)
  credentials?: ImportCredentialBody[];
  /** `abort`: nothing is stored if any item is rejected. `skip`: rejected items are skipped, and all other items are stored. */
  @Optional(OneOf(['abort', 'skip'], { default: 'abort' })) onRefusal?: 'abort' | 'skip';
  /** Whether to report the result without storing anything. @example true */
  @Optional(Flag()) dryRun?: boolean;
}

export class ImportFaultView implements ItemFault {
  /** Location in the file: `line 7`, `line 7/port`, or a JSON pointer into YAML. @example "line 7/port" */
  pointer: string;
  /** @example "must not be greater than 65535" */
  detail: string;
}

export class ImportedItemView {
  /** Location in the file: `line 7`, or a JSON pointer into YAML. @example "line 7" */
  pointer: string;
  /** @example web-1.example.com */
  name: string;
  @ApiProperty({ enum: IMPORT_OUTCOMES, example: 'created' }) outcome: ImportOutcome;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId?: string;
  errors: ImportFaultView[];
  /** Settings in the file that host records do not support. @example ["ansible_become"] */
  ignored: string[];
}

export class ImportReportView {
  /** Whether anything was stored. @example true */
  stored: boolean;
  /** Number of items by outcome. @example {"created": 12, "refused": 1} */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } }) counts: Record<string, number>;
  items: ImportedItemView[];

  static of({ stored, items }: ImportReport): ImportReportView {
    const counts = Object.fromEntries(
      [...Map.groupBy(items, ({ outcome }) => outcome)].map(([outcome, all]) => [outcome, all.length]),
    );
    return { stored, counts, items: items.map((item) => itemView(item)) };
  }
}

function itemView({ pointer, name, outcome, hostId, faults, ignored }: ImportedItem): ImportedItemView {
  return { pointer, name, outcome, hostId, errors: [...faults], ignored: [...ignored] };
}
