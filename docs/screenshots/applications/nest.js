import 'reflect-metadata'
import { setTimeout } from 'node:timers/promises'
import { Controller, Get, Injectable, Module, Param, UseGuards, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

class RolesGuard {
  async canActivate() {
    await setTimeout(2)
    return true
  }
}
Injectable()(RolesGuard)

class CacheInterceptor {
  intercept(_context, next) {
    return next.handle()
  }
}
Injectable()(CacheInterceptor)

class CatsController {
  async showCat(id) {
    await setTimeout(5)
    return { id, name: 'Grace' }
  }
}
Controller('cats')(CatsController)
UseGuards(RolesGuard)(CatsController)
UseInterceptors(CacheInterceptor)(CatsController)
// TypeScript writes this as `@Get(':id') showCat(@Param('id') id: string)`.
Get(':id')(CatsController.prototype, 'showCat', Object.getOwnPropertyDescriptor(CatsController.prototype, 'showCat'))
Param('id')(CatsController.prototype, 'showCat', 0)

class ApplicationModule {}
Module({ controllers: [CatsController] })(ApplicationModule)

const app = await NestFactory.create(ApplicationModule, { logger: false })
app.use(function requestId(request, _response, next) {
  request.id = crypto.randomUUID()
  next()
})
app.enableCors()
await app.listen(Number(process.env.PORT), '127.0.0.1')
