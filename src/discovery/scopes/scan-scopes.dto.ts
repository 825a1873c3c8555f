import { ArrayMaxSize, IsArray, IsOptional, Matches, MaxLength } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { Int, ListOf, Name, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import type { ScanScope } from '../scan.entity.js';

export class CreateScanScopeBody {
  /** Unique name. @example "Office network" */
  @Name(1, 100) name: string;
  /**
   * CIDR blocks without host bits, addresses, or ranges (`192.0.2.1-20`). A string can contain several, separated by commas, spaces or line breaks.
   * @example ["192.0.2.0/24"]
   */
  @Optional(ListOf(Text(0, 4000), { max: 200 })) networks?: string[];
  /** DNS names; each includes its subdomains. @example ["example.com"] */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(200)
  @Matches(/^(?=.{1,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*\.?$/i, { each: true, message: 'must be DNS names' })
  @MaxLength(254, { each: true })
  names?: string[];
  /** Ports that may be scanned. @example [22, 443] */
  @ListOf(Int(1, 65_535), { min: 1, max: 50, unique: true }) ports: number[];
}

export class ScanScopeView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example "Office network" */
  name: string;
  /** @example ["192.0.2.0/24"] */
  networks: string[];
  /** @example ["example.com"] */
  names: string[];
  /** @example [22, 443] */
  ports: number[];
  /** @example "Ann Example" */
  createdBy: string;
  createdAt: Date;

  static of(row: ScanScope): ScanScopeView {
    return viewOf(ScanScopeView, row);
  }
}

export class ScanScopePage extends PageOf(ScanScopeView) {}
