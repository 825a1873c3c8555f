import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import type { Page } from '../../platform/http/cursors.js';
import type { ScanScope } from '../model/scan.entity.js';

export class CreateScanScopeBody {
  /** Each name once. @example "Office network" */
  @IsString()
  @Length(1, 100)
  name: string;

  /** CIDR with host bits of zero, an address, or a range (`192.0.2.1-20`), several parted by commas, spaces or line ends too. @example ["192.0.2.0/24"] */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(200)
  @IsString({ each: true })
  @MaxLength(4000, { each: true })
  networks?: string[];

  /** DNS names; each stands for itself and everything below it. @example ["example.com"] */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(200)
  @Matches(/^(?=.{1,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*\.?$/i, { each: true, message: 'each must be a DNS name' })
  @MaxLength(254, { each: true })
  names?: string[];

  /** Ports that may be scanned. @example [22, 443] */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(50)
  @ArrayUnique()
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(65_535, { each: true })
  ports: number[];
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

  static of({ id, name, networks, names, ports, createdBy, createdAt }: ScanScope): ScanScopeView {
    return { id, name, networks, names, ports, createdBy, createdAt };
  }
}

export class ScanScopePage {
  items: ScanScopeView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<ScanScope>): ScanScopePage {
    return { items: page.items.map((row) => ScanScopeView.of(row)), nextCursor: page.nextCursor };
  }
}
