import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialRights } from './credential-rights.js';
import { SecretDisclosure } from './secret-disclosure.entity.js';
import { SecretDisclosures } from './secret-disclosures.js';

/** The rights of credentials now, and who was shown their secrets. */
@Module({
  imports: [TypeOrmModule.forFeature([SecretDisclosure])],
  providers: [CredentialRights, SecretDisclosures],
  exports: [CredentialRights, SecretDisclosures],
})
export class RightsModule {}
