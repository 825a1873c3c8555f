import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { HostCookie } from '../secrets/host-cookie.js';

/** The credential of a browser. Strict: nothing that another site begins brings it along. */
@Injectable()
export class SessionCookie extends HostCookie {
  constructor(config: Config) {
    const maxAgeSeconds = config.browserSessionHours * 3600;
    super(config.publicUrl, { name: 'sealwright-session', sameSite: 'Strict', maxAgeSeconds });
  }
}
