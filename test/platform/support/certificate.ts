export * from '../../../torture/webhooks/certificate.ts'
