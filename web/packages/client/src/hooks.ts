// The entry point `@horae/client/hooks`: what hooks of a framework need in addition. @horae/vue and @horae/react use it.
export { endOf, reportEnd, type JobEnd } from './job/ends'
