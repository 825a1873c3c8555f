import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Public } from '../../access/access.js';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const page = (name: string) => readFileSync(join(import.meta.dirname, 'public', name), 'utf8');

/** The page that links in mails lead to. What is secret in them stands behind the #, so it is in no log and no referrer. */
@ApiExcludeController()
@Controller('account')
export class AccountController {
  @Get()
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', POLICY)
  @Header('cache-control', 'no-store')
  page(): string {
    return page('account.html');
  }

  @Get('account.js')
  @Public()
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return page('account.js');
  }
}
